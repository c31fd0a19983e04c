"""Rotary positions of a pack on a CPU: queries and keys turned, values copied, in one pass over the rows.

Letters: T tokens of the pack, D hidden size, H heads, K size of a head, P positions of the tables.
"""

import numpy as np
import torch
from torch import Tensor

from spanwise.runtime.compiled import njit
from spanwise.runtime.float_operations import array_of, like, widened
from spanwise.runtime.row_threads import in_parts


class Rotate(torch.autograd.Function):
    """qkv [T, 3D] float32 or bfloat16, positions [T] int64, waves [2, P, K / 2] float32 (cosines, sines) -> [T, 3D]."""

    @staticmethod
    def forward(ctx, qkv: Tensor, positions: Tensor, waves: Tensor) -> Tensor:
        ctx.positions, ctx.waves = positions, waves
        return _rotated(qkv, positions, waves, np.float32(1.0))

    @staticmethod
    def backward(ctx, grad: Tensor):
        return _rotated(grad, ctx.positions, ctx.waves, np.float32(-1.0)), None, None


def _rotated(qkv: Tensor, positions: Tensor, waves: Tensor, direction: np.float32) -> Tensor:
    qkv = qkv.contiguous()
    out = torch.empty_like(qkv)
    arrays = [array_of(tensor) for tensor in (qkv, positions, waves, out)]
    in_parts(lambda _, first, last: _rotate(*arrays, direction, first, last), len(qkv))
    return out


@njit
def _rotate(qkv, positions, waves, out, direction, first, last):
    half = waves.shape[2]
    both = 2 * qkv.shape[1] // 3  # queries and keys
    for t in range(first, last):
        cosines, sines = waves[0, positions[t]], waves[1, positions[t]]
        row, turned = qkv[t], out[t]
        for begin in range(0, both, 2 * half):
            for k in range(half):
                x, y = widened(row[begin + k]), widened(row[begin + half + k])
                cosine, sine = cosines[k], direction * sines[k]
                turned[begin + k] = like(x * cosine - y * sine, row[begin + k])
                turned[begin + half + k] = like(y * cosine + x * sine, row[begin + k])
        for d in range(both, len(row)):
            turned[d] = row[d]
