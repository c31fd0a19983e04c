"""LayerNorm(residual + dropout(x)) and its gradient, each one pass over rows that stay in the cache.

Letters: R rows (tokens), D hidden size, P parts that threads compute.
"""

import numpy as np
import torch
from torch import Tensor

from spanwise.nn.dropout import Rate, keep_row
from spanwise.runtime.compiled import njit
from spanwise.runtime.float_operations import REORDERED, array_of, like, widened
from spanwise.runtime.row_threads import in_parts, num_parts


class DropoutAddNorm(torch.autograd.Function):
    """x [R, D] float32 or bfloat16, residual [R, D] float32, weight and bias [D] -> [R, D] float32.

    `keys` [R] int64 say what each row drops; it is what `nn.dropout.keep_mask` says.
    """

    @staticmethod
    def forward(
        ctx,
        x: Tensor,
        residual: Tensor,
        weight: Tensor,
        bias: Tensor,
        eps: float,
        p: float,
        keys: Tensor,
    ) -> Tensor:
        R, D = x.shape
        rate = Rate.of(p)
        x, residual = x.contiguous(), residual.contiguous()
        total, out, keep = torch.empty_like(residual), torch.empty_like(residual), torch.empty(R, D, dtype=torch.bool)
        mean, rstd = residual.new_empty(R), residual.new_empty(R)
        given = [array_of(tensor) for tensor in (x, residual, weight, bias, keys.contiguous())]
        made = [array_of(tensor) for tensor in (total, out, keep, mean, rstd)]
        scale, least = np.float32(rate.scale), np.uint32(rate.least)
        in_parts(lambda _, first, last: _forward(*given, least, scale, np.float32(eps), *made, first, last), R)
        ctx.save_for_backward(total, mean, rstd, weight, keep)
        ctx.scale, ctx.x_dtype = rate.scale, x.dtype
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        total, mean, rstd, weight, keep = ctx.saved_tensors
        R, D = grad.shape
        grad_x, grad_total = torch.empty(R, D, dtype=ctx.x_dtype), torch.empty_like(total)
        sums = torch.zeros(num_parts(R), 2, D)  # of weight and bias, a part each
        given = [array_of(tensor) for tensor in (grad.contiguous(), total, mean, rstd, weight, keep)]
        made = [array_of(tensor) for tensor in (grad_x, grad_total, sums)]
        scale = np.float32(ctx.scale)
        in_parts(lambda part, first, last: _backward(*given, scale, *made, part, first, last), R)
        grad_weight, grad_bias = sums.sum(0)
        return grad_x, grad_total, grad_weight, grad_bias, None, None, None


@njit
def _forward(x, residual, weight_D, bias_D, keys_R, least, scale, eps, total, out, keep, mean, rstd, first, last):
    for r in range(first, last):
        keep_row(keys_R[r], least, keep[r])
        mean[r], rstd[r] = _forward_row(x[r], residual[r], weight_D, bias_D, scale, eps, total[r], out[r], keep[r])


@njit(fastmath=REORDERED)
def _forward_row(x_D, residual_D, weight_D, bias_D, scale, eps, total_D, out_D, keep_D):
    D = len(x_D)
    zero, share = np.float32(0.0), np.float32(1.0) / np.float32(D)
    mean = zero
    for d in range(D):
        value = residual_D[d] + (widened(x_D[d]) * scale if keep_D[d] else zero)
        total_D[d] = value
        mean += value
    mean *= share
    variance = zero
    for d in range(D):
        difference = total_D[d] - mean
        variance += difference * difference
    rstd = np.float32(1.0) / np.sqrt(variance * share + eps)
    for d in range(D):
        out_D[d] = (total_D[d] - mean) * rstd * weight_D[d] + bias_D[d]
    return mean, rstd


@njit
def _backward(grad, total, mean, rstd, weight_D, keep, scale, grad_x, grad_total, sums_P2D, part, first, last):
    of_weight_D, of_bias_D = sums_P2D[part, 0], sums_P2D[part, 1]
    for r in range(first, last):
        _backward_row(
            grad[r],
            total[r],
            mean[r],
            rstd[r],
            weight_D,
            keep[r],
            scale,
            grad_x[r],
            grad_total[r],
            of_weight_D,
            of_bias_D,
        )


@njit(fastmath=REORDERED)
def _backward_row(grad_D, total_D, mean, rstd, weight_D, keep_D, scale, grad_x_D, grad_total_D, of_weight_D, of_bias_D):
    D = len(grad_D)
    zero, share = np.float32(0.0), np.float32(1.0) / np.float32(D)
    of_mean, of_rstd = zero, zero
    for d in range(D):
        normed = (total_D[d] - mean) * rstd
        scaled = grad_D[d] * weight_D[d]
        of_mean += scaled
        of_rstd += scaled * normed
        of_weight_D[d] += grad_D[d] * normed
        of_bias_D[d] += grad_D[d]
    of_mean *= share
    of_rstd *= share
    for d in range(D):
        normed = (total_D[d] - mean) * rstd
        value = (grad_D[d] * weight_D[d] - of_mean - normed * of_rstd) * rstd
        grad_total_D[d] = value
        grad_x_D[d] = like(value * scale if keep_D[d] else zero, grad_x_D[d])
