"""Hidden dropout with cheap random numbers.

A CPU generator fills 64 random bits in about the time that it takes for one float, so four elements share one draw
of 64 bits: three to four times faster than `torch.nn.functional.dropout` there. All bits come from torch's default
generator, which the training loop reseeds for every pack, so a resumed run draws the same masks.

Source: Srivastava et al. 2014; rate 0.1 as in BERT, appendix A.2.
Differs: on CPU the rate is rounded to a multiple of 2^-16, and kept values are scaled by that rounded rate.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

LEVELS = 1 << 16  # one int16 of random bits an element


@dataclass(frozen=True)
class KeepMask:
    """Which elements stay (`keep`, bool) and the factor that keeps the expected value (`scale`)."""

    keep: Tensor
    scale: float


@dataclass(frozen=True)
class Draw:
    """Random bits of a CPU: an element stays where its int16 is `least` or more; what stays is scaled."""

    bits: Tensor  # int16, in the shape asked for
    least: int
    scale: float


def draw_bits(shape: torch.Size, p: float) -> Draw:
    """Draw what decides, on a CPU, which elements are dropped with chance `p`, 0 < p < 1."""
    num_dropped_levels = min(max(round(p * LEVELS), 1), LEVELS - 1)
    num_elements = shape.numel()
    words = torch.empty((num_elements + 3) // 4, dtype=torch.int64).random_(-(2**63), None)  # all 64 bits
    bits = words.view(torch.int16)[:num_elements].view(shape)
    return Draw(bits, num_dropped_levels - LEVELS // 2, LEVELS / (LEVELS - num_dropped_levels))


def draw_keep_mask(shape: torch.Size, p: float, device: torch.device) -> KeepMask:
    """Draw a mask that drops each element independently with chance `p`, 0 < p < 1."""
    if device.type != "cpu":
        return KeepMask(torch.empty(shape, dtype=torch.bool, device=device).bernoulli_(1.0 - p), 1.0 / (1.0 - p))
    draw = draw_bits(shape, p)
    return KeepMask(draw.bits >= draw.least, draw.scale)


class _MaskedScale(torch.autograd.Function):
    """x * keep * scale, remembering one byte an element."""

    @staticmethod
    def forward(ctx, x: Tensor, keep: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(keep)
        ctx.scale = scale
        return (x * keep).mul_(scale)

    @staticmethod
    def backward(ctx, grad: Tensor):
        (keep,) = ctx.saved_tensors
        return (grad * keep).mul_(ctx.scale), None, None


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Drop elements of `x` with chance `p` while training; otherwise return `x` itself."""
    if not training or p == 0.0:
        return x
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return F.dropout(x, p)  # already fused with its random numbers there
    mask = draw_keep_mask(x.shape, p, x.device)
    return _MaskedScale.apply(x, mask.keep, mask.scale)
