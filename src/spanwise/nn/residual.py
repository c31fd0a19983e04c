"""The end of every sub-layer of a post-norm encoder: LayerNorm(residual + dropout(x)), in float32.

Letters: T tokens in the pack, D hidden size.
Source: Vaswani et al. 2017, section 5.4; BERT keeps it. LayerNorm stays in float32 because its eps of 1e-12 is zero
in half precision (FAMILY trap 7B-9: a constant row must not become not-a-number).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.nn.dropout import draw_keep_mask


class LayerNorm(nn.LayerNorm):
    """LayerNorm computed and returned in float32, whatever the type of its input."""

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x.float(), self.normalized_shape, self.weight.float(), self.bias.float(), self.eps)


class _DropoutAddNorm(torch.autograd.Function):
    """One autograd node instead of four, and one byte an element for the mask instead of a float copy."""

    @staticmethod
    def forward(ctx, x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, eps: float, p: float) -> Tensor:
        mask = draw_keep_mask(x.shape, p, x.device)
        total = torch.add(residual, x * mask.keep, alpha=mask.scale)
        out, mean, rstd = torch.native_layer_norm(total, weight.shape, weight, bias, eps)
        ctx.save_for_backward(total, mean, rstd, weight, bias, mask.keep)
        ctx.scale, ctx.x_dtype = mask.scale, x.dtype
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        total, mean, rstd, weight, bias, keep = ctx.saved_tensors
        grad_total, grad_weight, grad_bias = torch.ops.aten.native_layer_norm_backward(
            grad.contiguous(), total, weight.shape, mean, rstd, weight, bias, [True, True, True]
        )
        grad_x = (grad_total * keep).mul_(ctx.scale).to(ctx.x_dtype)
        return grad_x, grad_total, grad_weight, grad_bias, None, None


class ResidualNorm(nn.Module):
    """LayerNorm(residual + dropout(x)): x [T, D] in any float type, residual [T, D] float32 -> [T, D] float32."""

    def __init__(self, hidden_size: int, eps: float, dropout: float) -> None:
        super().__init__()
        self.norm = LayerNorm(hidden_size, eps=eps)
        self.dropout = dropout

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        norm = self.norm
        if not self.training or self.dropout == 0.0:
            return norm(residual + x)
        if x.device.type == "cpu" and residual.dtype == norm.weight.dtype == torch.float32:
            return _DropoutAddNorm.apply(x, residual, norm.weight, norm.bias, norm.eps, self.dropout)
        return norm(residual + F.dropout(x, self.dropout))
