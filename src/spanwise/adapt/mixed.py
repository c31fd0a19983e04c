"""Weights part of the way from a start to what training made of it.

On the straight line between the two, what was won comes early and what is lost comes late: half of the way often has
most of the gain on new text and little of the loss on old text. Source: Wortsman et al. 2022, Robust fine-tuning of
zero-shot models, sections 3 and 4.
"""

import contextlib
import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

SQUARE = 2.0  # a loss near its minimum rises with the square of the way


def copied(model: nn.Module, device: str | None = None) -> list[Tensor]:
    """Return copies of a model's parameters, in their order, where they are or on another device."""
    return [parameter.detach().to(device or parameter.device, copy=True) for parameter in model.parameters()]


@contextlib.contextmanager
def part_of_the_way(model: nn.Module, start: Sequence[Tensor], share: float) -> Iterator[None]:
    """Within it the parameters lie `share` of the way from `start` to where they were; after it they have the same bits
    as before."""
    ends = copied(model)
    try:
        with torch.no_grad():
            for parameter, first, end in zip(model.parameters(), start, ends, strict=True):
                parameter.copy_(torch.lerp(first.to(end.device), end, share))
        yield
    finally:
        with torch.no_grad():
            for parameter, end in zip(model.parameters(), ends, strict=True):
                parameter.copy_(end)


def share_within(bound: float, rise: float, power: float = SQUARE) -> float:
    """Return which share of the way a rise of the loss by `rise`, with this power of the way, leaves within `bound`; a
    tenth less is taken. 0 where none can be told."""
    return 0.9 * (bound / rise) ** (1 / power) if math.isfinite(rise) and rise > bound > 0 else 0.0


def power_of(share: float, part: float, whole: float) -> float:
    """Return with which power of the way a loss rises that rises by `part` after a `share` and by `whole` in all."""
    ratio = part / whole
    return min(max(math.log(ratio) / math.log(share), 0.5), 4.0) if math.isfinite(ratio) and ratio > 0 else SQUARE
