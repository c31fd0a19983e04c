"""The end of every sub-layer of a post-norm encoder: LayerNorm(residual + dropout(x)), in float32.

Letters: T tokens in the pack, D hidden size.
Source: Vaswani et al. 2017, section 5.4; BERT keeps it. LayerNorm stays in float32 because its eps of 1e-12 is zero
in half precision, where a constant row would become not-a-number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.nn.fused.dropout_norm import DropoutAddNorm


class LayerNorm(nn.LayerNorm):
    """LayerNorm computed and returned in float32, whatever the type of its input."""

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x.float(), self.normalized_shape, self.weight.float(), self.bias.float(), self.eps)


@dataclass(frozen=True)
class SomeRows:
    """Which rows of a pack are computed; dropout draws for the whole pack, so that each gets what it always gets."""

    rows: Tensor  # [R] int64
    num_tokens: int  # T

    def of(self, values: Tensor) -> Tensor:
        """These rows of `values` [T, D]."""
        return values.index_select(0, self.rows)


class ResidualNorm(nn.Module):
    """LayerNorm(hidden + dropout(product(x))): x [T, D] in any float type, hidden [T, D] float32 -> [T, D] float32.

    `product` is the last step of a sub-layer, row by row. Where x and hidden hold `some` rows of a pack alone, those
    come back.
    """

    def __init__(self, hidden_size: int, eps: float, dropout: float) -> None:
        super().__init__()
        self.norm = LayerNorm(hidden_size, eps=eps)
        self.dropout = dropout

    def forward(
        self, product: Callable[[Tensor], Tensor], x: Tensor, hidden: Tensor, some: SomeRows | None = None
    ) -> Tensor:
        norm, added = self.norm, product(x)
        if not self.training or self.dropout == 0.0:
            return norm(hidden + added)
        if added.device.type == "cpu" and hidden.dtype == norm.weight.dtype == torch.float32:
            rows, num_tokens = (None, len(added)) if some is None else (some.rows, some.num_tokens)
            out = DropoutAddNorm.apply(added, hidden, norm.weight, norm.bias, norm.eps, self.dropout, rows, num_tokens)
            assert isinstance(out, Tensor)
            return out
        return norm(hidden + F.dropout(added, self.dropout))
