"""What passes through the seam between batch and encoder; the parts that make it are in `corruption/`.

Letters: T tokens in the pack, N hidden tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

DRAWS = "sampling"
"""Key of `Batch.targets` under which a corruption that samples finds its random numbers."""


@dataclass(frozen=True, kw_only=True)
class Draws:
    """One random number for each of the N hidden tokens of a pack."""

    uniform: Tensor  # [N] float64 in [0, 1)


@dataclass(frozen=True, kw_only=True)
class Corrupted:
    """A pack as the encoder reads it."""

    input_ids: Tensor  # [T] int64
    original_ids: Tensor | None = None  # [T] int64, the text, where the corruption puts tokens of its own
    losses: dict[str, Any] = field(default_factory=dict)  # loss sums of its own objectives
