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


def copied(model: nn.Module) -> list[Tensor]:
    """Return copies of a model's parameters, in their order."""
    return [parameter.detach().clone() for parameter in model.parameters()]


@contextlib.contextmanager
def part_of_the_way(model: nn.Module, start: Sequence[Tensor], share: float) -> Iterator[None]:
    """Within it the parameters lie `share` of the way from `start` to where they were; after it they have the same bits
    as before."""
    ends = copied(model)
    with torch.no_grad():
        for parameter, first, end in zip(model.parameters(), start, ends, strict=True):
            parameter.copy_(torch.lerp(first.to(end.device), end, share))
    try:
        yield
    finally:
        with torch.no_grad():
            for parameter, end in zip(model.parameters(), ends, strict=True):
                parameter.copy_(end)


def share_within(bound: float, rise: float) -> float:
    """Return which share of the way a rise of the loss by `rise` leaves within `bound`; 0 where none can be told.

    Near a minimum a loss rises with the square of the way; a tenth less is taken, as the start is none exactly.
    """
    return 0.9 * math.sqrt(bound / rise) if math.isfinite(rise) and rise > bound > 0 else 0.0
