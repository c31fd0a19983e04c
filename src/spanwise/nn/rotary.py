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
    is_plain = qkv.device.type == "cpu" and not torch.compiler.is_compiling()
    if is_plain and qkv.dtype in (torch.float32, torch.bfloat16):
        turned = Rotate.apply(qkv, positions, table)
        assert isinstance(turned, Tensor)
        return turned
    cosines, sines = table[:, positions].to(torch.promote_types(qkv.dtype, torch.float32)).unbind(0)
    return turn(qkv, cosines, sines)


def turn(qkv: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """What `rotate` does, in operators of PyTorch alone: cosines and sines [T, K / 2] of each token's angles."""
    width, half = qkv.shape[1] // 3, cosines.shape[1]
    qk, values = qkv[:, : 2 * width], qkv[:, 2 * width :]
    x, y = qk.reshape(-1, 2 * width // (2 * half), 2, half).to(cosines.dtype).unbind(2)
    cosines, sines = cosines[:, None], sines[:, None]
    turned = torch.cat((x * cosines - y * sines, y * cosines + x * sines), dim=-1)
    return torch.cat((turned.reshape(-1, 2 * width).to(qkv.dtype), values), dim=1)
