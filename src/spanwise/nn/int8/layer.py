"""The two sub-layers of an encoder with weights of bytes: the same arithmetic in between, a few rows at a time.

Letters: T tokens in the pack, n rows of a piece of it, D hidden size, I intermediate size.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.nn.attention import attend
from spanwise.nn.int8.linear import MOST_ROWS, ROW_MULTIPLE, ByteLinear
from spanwise.nn.int8.rows import (
    EXACT,
    GELU_ZERO,
    TANH,
    ZERO,
    add_and_norm,
    gelu_codes,
    quantize_rows,
    rescale_rows,
)
from spanwise.nn.layer import FeedForward, SelfAttention
from spanwise.nn.residual import ResidualNorm
from spanwise.nn.sequences import Sequences


class Int8SelfAttention(nn.Module):
    """`SelfAttention` with both of its products in int8; queries, keys and values are not quantised.

    Attention itself runs in bfloat16 under autocast and in float32 otherwise.
    """

    def __init__(self, plain: SelfAttention, name: str) -> None:
        super().__init__()
        self.num_heads, self.causal = plain.num_heads, plain.causal
        self.qkv = ByteLinear(plain.qkv, ZERO, f"{name}.qkv")
        self.output = ByteLinear(plain.output, ZERO, f"{name}.output")
        self.norm = _Norm(plain.residual)

    def forward(self, hidden: Tensor, sequences: Sequences) -> Tensor:
        """hidden: [T, D] float32. Returns [T, D] float32."""
        qkv = self.qkv
        dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else torch.float32
        qkv_T3D = torch.empty(len(hidden), qkv.num_outputs, dtype=dtype)
        codes = _Codes(len(hidden), qkv.num_inputs)
        for rows in pieces(len(hidden)):
            sums = qkv.sums(codes.of(hidden[rows]))
            num_rows = rows.stop - rows.start
            rescale_rows(sums.numpy()[:num_rows], codes.scales[:num_rows], qkv.bias_N)
            qkv_T3D[rows] = sums[:num_rows]
        mixed_TD = attend(qkv_T3D, sequences, self.num_heads, causal=self.causal)
        out_TD = torch.empty_like(hidden)
        for rows in pieces(len(hidden)):
            sums = self.output.sums(codes.of(mixed_TD[rows].float()))
            self.norm.into(out_TD[rows], sums, codes.scales, self.output.bias_N, hidden[rows])
        return out_TD


class Int8FeedForward(nn.Module):
    """`FeedForward` with both of its products in int8."""

    def __init__(self, plain: FeedForward, name: str) -> None:
        super().__init__()
        self.constants = TANH if plain.activation == "gelu_tanh" else EXACT
        self.up = ByteLinear(plain.up, ZERO, f"{name}.up")
        self.down = ByteLinear(plain.down, GELU_ZERO, f"{name}.down")
        self.norm = _Norm(plain.residual)

    def forward(self, hidden: Tensor) -> Tensor:
        """hidden: [T, D] float32. Returns [T, D] float32."""
        out_TD = torch.empty_like(hidden)
        codes = _Codes(len(hidden), self.up.num_inputs)
        inner_nI = torch.empty(len(codes.codes), self.up.num_outputs, dtype=torch.uint8)
        for rows in pieces(len(hidden)):
            sums = self.up.sums(codes.of(hidden[rows]))
            inner = inner_nI[: len(sums)]
            gelu_codes(sums.numpy(), codes.scales, self.up.bias_N, self.constants, inner.numpy())
            sums = self.down.sums(inner)
            self.norm.into(out_TD[rows], sums, codes.scales, self.down.bias_N, hidden[rows])
        return out_TD


def pieces(num_rows: int) -> Iterator[slice]:
    """Rows of a pack, at most MOST_ROWS a piece."""
    return (slice(begin, min(begin + MOST_ROWS, num_rows)) for begin in range(0, num_rows, MOST_ROWS))


class _Codes:
    """Space for the codes of a piece and the scales of its rows; rows behind the last are zeros."""

    def __init__(self, num_rows: int, width: int) -> None:
        most = min(-(-num_rows // ROW_MULTIPLE) * ROW_MULTIPLE, MOST_ROWS)
        self.codes = torch.zeros(most, width, dtype=torch.uint8)
        self.scales = np.zeros(most, dtype=np.float32)

    def of(self, values: Tensor) -> Tensor:
        """values [n, width] float32 -> codes, n rounded up to ROW_MULTIPLE."""
        num_rows = len(values)
        quantize_rows(values.numpy(), self.codes.numpy()[:num_rows], self.scales[:num_rows])
        return self.codes[: -(-num_rows // ROW_MULTIPLE) * ROW_MULTIPLE]


class _Norm:
    """LayerNorm(residual + product): weights as the loops read them."""

    def __init__(self, plain: ResidualNorm) -> None:
        norm = plain.norm
        self.weight_D, self.bias_D = (tensor.detach().float().numpy() for tensor in (norm.weight, norm.bias))
        self.eps = np.float32(norm.eps)

    def into(self, out: Tensor, sums: Tensor, scales: np.ndarray, bias_D: np.ndarray, residual: Tensor) -> None:
        """out, residual: [n, D] float32; sums [n or more, D], scales [n or more] of its rows."""
        n = len(out)
        add_and_norm(
            sums.numpy()[:n], scales[:n], bias_D, residual.numpy(), self.weight_D, self.bias_D, self.eps, out.numpy()
        )
