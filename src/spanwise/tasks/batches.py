"""Labelled examples as packs: shuffled steps of a fixed number of examples for training, one pass for prediction.

Letters: W examples in all (windows of question answering), B examples per step.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch

from spanwise.data.batch import Batch
from spanwise.data.order import permutation
from spanwise.data.packing import pack_boundaries
from spanwise.errors import ConfigError

# Matrix products of a few rows take other kernels, which round otherwise (measured: below 12 rows on two threads).
# From this size on a row's bits do not depend on how many others are in the pack.
MIN_PACK_TOKENS = 64
SPARE_TOKENS = 16  # of filler behind a fixed pack: attention may round the last sequence's rows up to as many
FILLER_LENGTH = 64  # tokens of the longest sequence of filler

T = TypeVar("T")


class Features(Protocol):
    """Examples as integers, and how to lay a choice of them into a pack."""

    @property
    def lengths_W(self) -> np.ndarray: ...

    def __len__(self) -> int: ...

    def assemble(self, rows: np.ndarray) -> Batch: ...


@runtime_checkable
class ChangesWithEpoch(Protocol):
    """Features that show another part of an example in every epoch (a window of a long document)."""

    def at_epoch(self, epoch: int, seed: int) -> Features:
        """Return as many examples in the same order: a pure function of both numbers."""
        ...


@runtime_checkable
class DropsTokens(Protocol):
    """Features that know how many tokens of each example no sequence shows."""

    @property
    def dropped_tokens(self) -> np.ndarray: ...


@dataclass(frozen=True)
class Shown:
    """Features as one epoch shows them."""

    features: Features
    lengths_W: np.ndarray

    @classmethod
    def of(cls, given: Features, epoch: int, seed: int) -> "Shown":
        features = given.at_epoch(epoch, seed) if isinstance(given, ChangesWithEpoch) else given
        return cls(features, np.asarray(features.lengths_W))

    def packs(self, rows: np.ndarray, pack_tokens: int) -> list[Callable[[], Batch]]:
        """How to make each pack of some examples; a single long example still makes a pack."""
        if not len(rows):
            return []
        borders = pack_boundaries(self.lengths_W[rows], max(pack_tokens, int(self.lengths_W.max())))
        return [functools.partial(self.features.assemble, rows[a:b]) for a, b in itertools.pairwise(borders)]


class OfEpoch(Generic[T]):
    """What all steps of an epoch read: made for the first that asks, and kept until one of another epoch does."""

    def __init__(self, make: Callable[[int], T]) -> None:
        self._make, self._epoch = make, -1

    def __call__(self, epoch: int) -> T:
        if epoch != self._epoch:
            self._value, self._epoch = self._make(epoch), epoch
        return self._value


class EpochBatches:
    """The steps of fine-tuning: B examples each, a new order every epoch, the rest of an epoch in a smaller last step.

    A step is cut into packs of at most `pack_tokens` tokens; how it is cut changes nothing but speed and memory,
    because losses are sums. Every step is a pure function of its index, so a run can start at any of them.
    """

    def __init__(self, features: Features, *, batch_size: int, pack_tokens: int, seed: int) -> None:
        if batch_size < 1:
            raise ConfigError(f"batch_size must be at least 1, got {batch_size}.")
        self.batch_size, self.pack_tokens, self.seed = batch_size, pack_tokens, seed
        self._all = features
        self.steps_per_epoch = -(-len(features) // batch_size)
        self._of_epoch = OfEpoch(self._laid_out)

    def step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Batch]:
        """The packs of step `index`, counted from 0 over all epochs, or of several processes' shares that of `rank`."""
        epoch, place = divmod(index, self.steps_per_epoch)
        shown, order_W = self._of_epoch(epoch)
        rows = order_W[place * self.batch_size : (place + 1) * self.batch_size]
        return [make() for make in shown.packs(rows, self.pack_tokens)[rank::num_ranks]]

    def position(self, index: int) -> dict[str, float]:
        return {"epoch": index / self.steps_per_epoch}

    def _laid_out(self, epoch: int) -> tuple[Shown, np.ndarray]:
        """Return the features of an epoch, and the order of its examples."""
        return Shown.of(self._all, epoch, self.seed), permutation(self.seed, epoch, len(self._all))


@dataclass(frozen=True)
class Packing:
    """How sequences are packed in prediction: at most `tokens` a pack, the longest example excepted.

    A small pack ends in filler, so that an example's outputs do not depend on which others share its pack. `is_fixed`
    makes this hold whatever a machine's kernels do: every pack has exactly `tokens` tokens, so that every product has
    the same number of rows; an example that is longer has packs of whole multiples of it for itself. A fixed pack whose
    examples fit into `small` tokens is filled to these alone: for machines whose kernels were seen to round alike at
    both sizes (`serving/small_packs.py`).
    """

    tokens: int
    is_fixed: bool = False
    small: int = 0

    @property
    def capacity(self) -> int:
        """Return how many tokens of examples a pack takes."""
        return max(1, self.tokens - SPARE_TOKENS) if self.is_fixed else self.tokens

    def borders(self, lengths_W: np.ndarray) -> list[tuple[int, int]]:
        """Return which examples, half-open and in order, make each pack."""
        if not self.is_fixed:
            borders = pack_boundaries(lengths_W, max(self.tokens, int(lengths_W.max(initial=0))))
            return [(int(first), int(last)) for first, last in itertools.pairwise(borders)]
        # An example that is too long counts as one that fills a pack, so that it gets one for itself.
        borders = pack_boundaries(np.minimum(lengths_W, self.capacity), self.capacity)
        return [(int(first), int(last)) for first, last in itertools.pairwise(borders)]

    def filled(self, batch: Batch) -> Batch:
        """Return the batch with as much filler behind it as the pack wants."""
        num_tokens = len(batch.input_ids)
        if not self.is_fixed:
            return filled(batch, MIN_PACK_TOKENS)
        if num_tokens + SPARE_TOKENS <= min(self.small, self.tokens):
            return filled(batch, self.small)
        num_packs = 1 if num_tokens <= self.capacity else -(-(num_tokens + SPARE_TOKENS) // self.tokens)
        return filled(batch, num_packs * self.tokens)


PREDICTION = Packing(4096)  # of one forward


def prediction_packs(features: Features, packing: Packing) -> Iterator[Batch]:
    """Every example once, in order, in packs."""
    for first, last in packing.borders(np.asarray(features.lengths_W)):
        yield packing.filled(features.assemble(np.arange(first, last)))


def filled(batch: Batch, min_tokens: int) -> Batch:
    """The batch with short sequences of id 0 behind it up to `min_tokens` tokens; they count as padding."""
    lacking = min_tokens - len(batch.input_ids)
    if lacking <= 0:
        return batch
    size = min(FILLER_LENGTH, max(8, batch.sequences.max_length))  # fits encoders of few positions
    short = [size] * (lacking // size) + ([lacking % size] if lacking % size else [])
    filler = torch.zeros(lacking, dtype=batch.input_ids.dtype)
    sequences = batch.sequences
    for length in short:
        sequences = sequences.with_filler(length)
    return dataclasses.replace(
        batch,
        input_ids=torch.cat([batch.input_ids, filler]),
        token_type_ids=torch.cat([batch.token_type_ids, filler]),
        sequences=sequences,
        num_padding=batch.num_padding + lacking,
    )
