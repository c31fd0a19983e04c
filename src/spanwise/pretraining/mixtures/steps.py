"""Steps out of packs: step k owns the packs k * S to (k + 1) * S. Letters: S packs of a step."""

from __future__ import annotations

from abc import ABC, abstractmethod

from spanwise.data.batch import Batch
from spanwise.errors import ConfigError
from spanwise.pretraining.collate import Collator, Masked

Position = dict[str, float | int | dict[str, float]]
"""Epochs and tokens of text that were passed, and the epochs of each of several stores."""


class PackedSteps(ABC):
    """Base of sources whose packs are numbered from the start of the run; a source adds `masked` and `position`.

    Raises: ConfigError for less than one pack a step.
    """

    def __init__(self, collator: Collator, packs_per_step: int) -> None:
        if packs_per_step < 1:
            raise ConfigError(f"packs_per_step must be at least 1, got {packs_per_step}.")
        self.collator = collator  # makes the batches
        self.packs_per_step = packs_per_step

    def step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Batch]:
        """Return the packs of one step, or of several processes' shares the one of process `rank`."""
        return [self.collator.batch(masked) for masked in self.masked_step(index, rank, num_ranks)]

    def masked_step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Masked]:
        """Return the packs of one step before they become tensors: what pictures and counts are made of."""
        first = index * self.packs_per_step
        return [self.masked(pack) for pack in range(first + rank, first + self.packs_per_step, num_ranks)]

    @abstractmethod
    def masked(self, pack: int) -> Masked:
        """Return the pack of a number, 0 or more."""
