"""A linear layer whose weights are bytes, one scale per output.

Letters: n rows, K their width, N outputs.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.errors import CheckpointError
from spanwise.nn.int8.rows import quantize_rows

MOST_ROWS = 256  # of one product: what is read and written in between stays in the cache
ROW_MULTIPLE = 16  # oneDNN makes a kernel for each number of rows: that leaves 16


class Codes(NamedTuple):
    """Rows as bytes. Behind the `num_rows` real ones are rows of filler, up to a multiple of ROW_MULTIPLE."""

    codes: Tensor  # [n, K] uint8
    scales: np.ndarray  # [n] float32, one per row
    num_rows: int


class Sums(NamedTuple):
    """The result of a product of codes, its scales and bias not yet applied: value = sum x scale of the row + bias."""

    sums: Tensor  # [n, N] float32, rows of filler behind the real ones
    scales: np.ndarray  # [n] float32
    bias_N: np.ndarray
    num_rows: int

    @property
    def real(self) -> Tensor:
        """The sums of real rows."""
        return self.sums[: self.num_rows]


class ByteLinear(nn.Module):
    """Sums of products of codes and weights, exact in integers: the same bits whatever other rows are multiplied.

    zero: the code that stands for 0.0 in what is multiplied.
    """

    def __init__(self, linear: nn.Linear, zero: int, name: str) -> None:
        """Raises: CheckpointError for weights that are not finite."""
        super().__init__()
        weight_NK = linear.weight.detach().float()
        if not torch.isfinite(weight_NK).all():
            raise CheckpointError(f"the weights of {name} are not all finite numbers; they can't be made int8.")
        scales_N = (weight_NK.abs().amax(1) / 127).clamp_min(1e-30)
        codes_NK = (weight_NK / scales_N[:, None]).round().to(torch.int8)
        self.num_outputs, self.num_inputs = weight_NK.shape
        self.zero = zero
        bias_N = torch.zeros(self.num_outputs) if linear.bias is None else linear.bias.detach().float()
        self.bias_N = bias_N.numpy()
        self._scales_N = scales_N
        self._zeros_N = torch.zeros(self.num_outputs, dtype=torch.int64)
        self._packed = torch.ops.onednn.qlinear_prepack(codes_NK.contiguous(), [MOST_ROWS, self.num_inputs])

    def forward(self, rows: Tensor | Codes) -> Sums:
        """rows: [n, K] in any float type, or codes. Returns sums of (code - zero) x weight."""
        codes = rows if isinstance(rows, Codes) else coded(rows.float())
        return Sums(self.sums(codes.codes), codes.scales, self.bias_N, codes.num_rows)

    def sums(self, codes: Tensor) -> Tensor:
        """Return the sums of codes [n, K] uint8: [n, N] float32."""
        return torch.ops.onednn.qlinear_pointwise(
            codes, 1.0, self.zero, self._packed, self._scales_N, self._zeros_N,
            None, 1.0, 0, torch.float32, "none", [], "",
        )  # fmt: skip


def coded(values: Tensor) -> Codes:
    """Return values [n, K] float32 as codes, each row with a scale of its own."""
    num_rows, width = values.shape
    num_codes = -(-num_rows // ROW_MULTIPLE) * ROW_MULTIPLE
    codes, scales = torch.empty(num_codes, width, dtype=torch.uint8), np.zeros(num_codes, dtype=np.float32)
    codes[num_rows:] = 0
    quantize_rows(values.numpy(), codes.numpy()[:num_rows], scales[:num_rows])
    return Codes(codes, scales, num_rows)
