"""A linear layer whose weights are bytes, one scale an output.

Letters: n rows, K their width, N outputs.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from spanwise.errors import CheckpointError

MOST_ROWS = 256  # of one product: what is read and written in between stays in the cache
ROW_MULTIPLE = 16  # oneDNN makes a kernel for each number of rows: that leaves 16


class ByteLinear:
    """Sums of products of codes and weights, exact in integers: the same bits whatever other rows are multiplied.

    zero: the code that stands for 0.0. `sums` leaves out the scales of the rows and the bias, which whoever reads the
    sums applies.
    """

    def __init__(self, linear: nn.Linear, zero: int, name: str) -> None:
        """Raises: CheckpointError for weights that are not finite."""
        weight_NK = linear.weight.detach().float()
        if not torch.isfinite(weight_NK).all():
            raise CheckpointError(f"the weights of {name} are not all finite numbers; they can't be made int8.")
        scales_N = (weight_NK.abs().amax(1) / 127).clamp_min(1e-30)
        codes_NK = (weight_NK / scales_N[:, None]).round().to(torch.int8)
        self.num_outputs, self.num_inputs = weight_NK.shape
        self.zero = zero
        self.scales_N = scales_N
        self.bias_N = linear.bias.detach().float().numpy()
        self._zeros_N = torch.zeros(self.num_outputs, dtype=torch.int64)
        self._packed = torch.ops.onednn.qlinear_prepack(codes_NK.contiguous(), [MOST_ROWS, self.num_inputs])

    def sums(self, codes: Tensor) -> Tensor:
        """codes [n, K] uint8 -> float32 [n, N], each product (code - zero) x weight."""
        return torch.ops.onednn.qlinear_pointwise(
            codes, 1.0, self.zero, self._packed, self.scales_N, self._zeros_N,
            None, 1.0, 0, torch.float32, "none", [], "",
        )  # fmt: skip
