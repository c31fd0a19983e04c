"""Which tokens of a padded batch are targets, and where the boundaries of their spans lie: tensor operations alone.

Nothing here loops over spans or tokens, and nothing asks the device for a number, except `places_of` without a size.
Letters: B examples, L padded length, N hidden tokens, C places of a buffer.
Source: Joshi et al. 2020 (SpanBERT), section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Boundaries:
    """For every token of a batch, [B, L] each; meant for hidden ones."""

    left: Tensor  # int64: place of the visible token before its span
    right: Tensor  # int64: place of the visible token after it
    index: Tensor  # int64: tokens of the span before this one, 0 at the first
    is_whole: Tensor  # bool: hidden, and both boundaries are usable tokens of the same example


def find_boundaries(hidden: Tensor, usable: Tensor) -> Boundaries:
    """Find the boundaries of spans, the unbroken runs of hidden tokens of an example; `usable` tokens may be one.

    hidden, usable: bool [B, L].

    A span at the edge of its example, or beside padding, is not whole: its boundary is never another token.
    """
    length = hidden.shape[1]
    place_BL = torch.arange(length, device=hidden.device).expand_as(hidden)
    if not length:
        return Boundaries(left=place_BL, right=place_BL, index=place_BL, is_whole=hidden)
    left_BL = place_BL.masked_fill(hidden, -1).cummax(1).values
    right_BL = place_BL.masked_fill(hidden, length).flip(1).cummin(1).values.flip(1)
    left_ok = (left_BL >= 0) & usable.gather(1, left_BL.clamp(min=0))
    right_ok = (right_BL < length) & usable.gather(1, right_BL.clamp(max=length - 1))
    return Boundaries(left=left_BL, right=right_BL, index=place_BL - left_BL - 1, is_whole=hidden & left_ok & right_ok)


def places_of(chosen: Tensor, size: int) -> Tensor:
    """Return the first `size` places where `chosen` (bool, read flat) is true, int64 [size]; then zeros.

    A scatter in place of `nonzero`: the size is known, so no device is waited for.
    """
    flat = chosen.reshape(-1)
    slot = torch.where(flat, flat.cumsum(0) - 1, size).clamp(max=size)
    places = torch.arange(len(flat), device=flat.device)
    return torch.zeros(size + 1, dtype=torch.int64, device=flat.device).scatter_(0, slot, places)[:size]
