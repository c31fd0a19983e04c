"""Rotary positions: queries and keys are turned by angles that grow with their position, so that their product depends
on how far apart they stand.

Letters: T tokens in the pack, D hidden size, H heads, K size of a head, P positions.
Source: Su et al. 2021 (RoFormer), section 3.2.2, the two halves of a head paired as in GPT-NeoX and Hugging Face.
"""

import functools

import torch
from torch import Tensor

from spanwise.nn.fused.rotation import Rotate


@functools.lru_cache(maxsize=16)
def waves(base: float, head_size: int, num_positions: int, device: torch.device) -> Tensor:
    """Return cosines and sines [2, P, K / 2] float32 of the angles position x base^(-2k / K)."""
    with torch.inference_mode(False):  # it is kept, and training may be next
        rates = 1.0 / base ** (torch.arange(0, head_size, 2, dtype=torch.float) / head_size)
        angles = torch.arange(num_positions, dtype=torch.float)[:, None] * rates
        return torch.stack((angles.cos(), angles.sin())).to(device)


def rotate(qkv: Tensor, positions: Tensor, table: Tensor) -> Tensor:
    """Turn queries and keys: qkv [T, 3D], positions [T] int64, table [2, P, K / 2] of `waves`. Returns [T, 3D]."""
    if qkv.device.type == "cpu" and qkv.dtype in (torch.float32, torch.bfloat16):
        turned = Rotate.apply(qkv, positions, table)
        assert isinstance(turned, Tensor)
        return turned
    qk, values = qkv.view(len(qkv), 3, -1)[:, :2], qkv[:, 2 * qkv.shape[1] // 3 :]
    cosines, sines = table[:, positions, None, None].to(torch.promote_types(qkv.dtype, torch.float32)).unbind(0)
    x, y = qk.reshape(len(qkv), 2, -1, 2, table.shape[2]).to(cosines.dtype).unbind(3)
    turned = torch.cat((x * cosines - y * sines, y * cosines + x * sines), dim=-1)
    return torch.cat((turned.reshape(len(qkv), -1).to(qkv.dtype), values), dim=1)
