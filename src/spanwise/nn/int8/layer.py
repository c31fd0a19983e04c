"""The parts of a layer that take other places in int8: products of bytes, and what stands between them.

The layers stay those of `nn/layer.py`. A product gives whole sums; whoever reads them applies the scales and the bias
in the same pass over the rows. All that is computed row by row runs a piece of the pack at a time, so that what is
written and read in between stays in the cache.

Letters: T tokens in the pack, n rows of a piece of it, D hidden size, I intermediate size.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.nn.int8.linear import MOST_ROWS, ByteLinear, Codes, Sums, coded
from spanwise.nn.int8.rows import EXACT, GELU_ZERO, TANH, ZERO, add_and_norm, gelu_codes, rescale_rows
from spanwise.nn.layer import FeedForward, Inner, SelfAttention
from spanwise.nn.residual import Residual, ResidualNorm


def byte_parts(plain: SelfAttention | FeedForward, name: str) -> dict[str, nn.Module]:
    """Return the parts of a sub-layer in int8, by the names of those whose places they take.

    Queries, keys and values are not quantised; attention itself runs in bfloat16 under autocast and in float32
    otherwise.
    """
    joining = Int8ResidualNorm if isinstance(plain.residual, ResidualNorm) else Int8PreNorm
    residual = joining(plain.residual)
    if isinstance(plain, SelfAttention):
        qkv, output = ByteLinear(plain.qkv, ZERO, f"{name}.qkv"), ByteLinear(plain.output, ZERO, f"{name}.output")
        return {"residual": residual, "qkv": Rescaled(qkv), "output": output}
    inner = InnerCodes(plain.inner) if plain.inner.gated or plain.inner.activation == "silu" else GeluCodes(plain.inner)
    up, down = ByteLinear(plain.up, ZERO, f"{name}.up"), ByteLinear(plain.down, inner.zero, f"{name}.down")
    return {"residual": residual, "up": up, "inner": inner, "down": down}


def pieces(num_rows: int) -> Iterator[slice]:
    """Return the rows of a pack, at most MOST_ROWS a piece."""
    return (slice(begin, min(begin + MOST_ROWS, num_rows)) for begin in range(0, num_rows, MOST_ROWS))


def rescaled(sums: Sums) -> Tensor:
    """Return the numbers [n, N] that sums stand for; the sums are used up."""
    rescale_rows(sums.real.numpy(), sums.scales[: sums.num_rows], sums.bias_N)
    return sums.real


class Rescaled(nn.Module):
    """A product whose sums are wanted as numbers: [T, D] float32 -> [T, N] in the type that attention computes in."""

    def __init__(self, product: ByteLinear) -> None:
        super().__init__()
        self.product = product

    def forward(self, hidden: Tensor) -> Tensor:
        dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else torch.float32
        out_TN = torch.empty(len(hidden), self.product.num_outputs, dtype=dtype)
        for rows in pieces(len(hidden)):
            out_TN[rows] = rescaled(self.product(hidden[rows]))
        return out_TN


class GeluCodes(nn.Module):
    """GELU of sums, as codes for the next product: one compiled loop."""

    zero = GELU_ZERO

    def __init__(self, plain: Inner) -> None:
        super().__init__()
        self.constants = TANH if plain.activation == "gelu_tanh" else EXACT

    def forward(self, sums: Sums) -> Codes:
        codes = torch.empty(sums.sums.shape, dtype=torch.uint8)
        gelu_codes(sums.sums.numpy(), sums.scales, sums.bias_N, self.constants, codes.numpy())
        return Codes(codes, sums.scales, sums.num_rows)


class InnerCodes(nn.Module):
    """Any other function of sums, a gated one among them, as codes for the next product."""

    zero = ZERO

    def __init__(self, plain: Inner) -> None:
        super().__init__()
        self.plain = plain

    def forward(self, sums: Sums) -> Codes:
        return coded(self.plain(rescaled(sums)))


class Int8PreNorm(nn.Module):
    """`PreNorm` without dropout, around a product of bytes."""

    def __init__(self, plain: Residual) -> None:
        super().__init__()
        self.enter = plain.enter

    def forward(
        self, product: Callable[[Tensor], Sums], x: Tensor, hidden: Tensor, keys: Tensor | None = None
    ) -> Tensor:
        """x: [T, D], hidden: [T, D] float32. Returns [T, D] float32."""
        out_TD = torch.empty_like(hidden)
        for rows in pieces(len(hidden)):
            torch.add(hidden[rows], rescaled(product(x[rows])), out=out_TD[rows])
        return out_TD


class Int8ResidualNorm(nn.Module):
    """`ResidualNorm` without dropout, around a product of bytes."""

    def __init__(self, plain: Residual) -> None:
        super().__init__()
        norm = plain.norm
        assert norm is not None
        bias_D = torch.zeros_like(norm.weight) if norm.bias is None else norm.bias
        self.weight_D, self.bias_D = (tensor.detach().float().numpy() for tensor in (norm.weight, bias_D))
        self.eps, self.enter = np.float32(norm.eps), plain.enter

    def forward(
        self, product: Callable[[Tensor], Sums], x: Tensor, hidden: Tensor, keys: Tensor | None = None
    ) -> Tensor:
        """x: [T, D], hidden: [T, D] float32. Returns [T, D] float32."""
        out_TD = torch.empty_like(hidden)
        for rows in pieces(len(hidden)):
            sums = product(x[rows])
            add_and_norm(
                sums.real.numpy(), sums.scales[: sums.num_rows], sums.bias_N, hidden[rows].numpy(),
                self.weight_D, self.bias_D, self.eps, out_TD[rows].numpy(),
            )  # fmt: skip
        return out_TD
