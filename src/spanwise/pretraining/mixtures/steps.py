"""Steps out of packs: step k owns the packs k * S to (k + 1) * S; and the endless stream of blocks packs are cut from.

Letters: S packs of a step, n blocks of an epoch.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from spanwise.data.batch import Batch
from spanwise.data.order import permutation
from spanwise.errors import ConfigError, DataError
from spanwise.pretraining.collate import Collator, Masked
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.formats.checked import table_of
from spanwise.pretraining.packing.shape import TRIED_PACKS

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

    def _give_shape(self) -> None:
        """Give packs that are to have one shape what their first ones need."""
        parts = self.collator.parts
        if parts.fixed:
            self.collator.parts = parts.shaped(self.collator.tried(map(self.masked, range(TRIED_PACKS))))

    @abstractmethod
    def masked(self, pack: int) -> Masked:
        """Return the pack of a number, 0 or more."""


Order = Literal["shuffled", "stored"]


@dataclass(frozen=True, kw_only=True)
class LaidEpoch:
    """The blocks of one epoch and the order in which they are visited."""

    table: BlockTable
    order: np.ndarray  # [n] int64, block ids


class BlockStream:
    """Place p is the p-th block that is visited. A pure function of (store, format, seed).

    `order` "stored" visits the blocks of every epoch as they are stored. The orders of the last `num_kept` epochs are
    kept: of a small store, several epochs lie in one pack. Raises: DataError for a store without text.
    """

    def __init__(self, collator: Collator, *, order: Order = "shuffled", num_kept: int = 8) -> None:
        self.collator = collator
        self._order = order
        self._kept = lru_cache(num_kept)(self._lay_out)
        self._first: BlockTable | None = None  # that of all epochs where the format draws none anew
        self._first_places = [0]  # of epoch e; epochs differ in length where the format draws anew
        self.epoch(0)

    def epoch(self, epoch: int) -> LaidEpoch:
        """Return the blocks of an epoch, laid out again where they are not kept any more."""
        laid = self._kept(epoch)
        while len(self._first_places) <= epoch + 1:
            known = len(self._first_places) - 1
            size = laid.table.num_blocks if known == epoch else self.epoch(known).table.num_blocks
            self._first_places.append(self._first_places[known] + size)
        return laid

    def locate(self, place: int) -> tuple[int, int]:
        """Return (epoch, place in that epoch) of a place of the stream."""
        while self._first_places[-1] <= place:
            self.epoch(len(self._first_places) - 1)
        epoch = bisect_right(self._first_places, place) - 1
        return epoch, place - self._first_places[epoch]

    def passed(self, place: int) -> float:
        """Return the epochs that lie before a place, as a fraction."""
        epoch, inside = self.locate(place)
        return epoch + inside / self.epoch(epoch).table.num_blocks

    def rows(self, first: int, last: int) -> list[tuple[int, np.ndarray]]:
        """Return the blocks at the places `first` to `last` as (epoch, block ids), one entry an epoch."""
        found = []
        while first < last:
            epoch, inside = self.locate(first)
            order = self.epoch(epoch).order[inside : inside + last - first]
            found.append((epoch, order))
            first += len(order)
        return found

    def _lay_out(self, epoch: int) -> LaidEpoch:
        collator = self.collator
        table = self._first
        if table is None:
            table = table_of(collator.format, collator.store, collator.seed, collator.repeated(epoch))
            self._first = None if collator.format.changes_with_epoch else table
        if table.num_blocks == 0:
            raise DataError("the token store holds no text; prepare a corpus that does.")
        num_blocks = table.num_blocks
        order = np.arange(num_blocks) if self._order == "stored" else permutation(collator.seed, epoch, num_blocks)
        return LaidEpoch(table=table, order=order)
