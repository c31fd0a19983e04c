"""Labelled examples as packs: shuffled steps of a fixed number of examples for training, one pass for prediction.

Letters: W examples in all (windows of question answering), B examples per step.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

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
        self._epoch = -1
        self._order_W = np.zeros(0, dtype=np.int64)

    def step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Batch]:
        """The packs of step `index`, counted from 0 over all epochs, or of several processes' shares that of `rank`."""
        epoch, place = divmod(index, self.steps_per_epoch)
        if epoch != self._epoch:
            given = self._all
            self.features = given.at_epoch(epoch, self.seed) if isinstance(given, ChangesWithEpoch) else given
            self._lengths_W = np.asarray(self.features.lengths_W)
            self._order_W, self._epoch = permutation(self.seed, epoch, len(self._lengths_W)), epoch
        rows = self._order_W[place * self.batch_size : (place + 1) * self.batch_size]
        pack_tokens = max(self.pack_tokens, int(self._lengths_W.max()))  # a single long example still makes a pack
        packs = _cut(rows, self._lengths_W, pack_tokens)[rank::num_ranks]
        return [self.features.assemble(part) for part in packs]

    def position(self, index: int) -> dict[str, float]:
        return {"epoch": index / self.steps_per_epoch}


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


def packs_of(features: Features, rows: np.ndarray, pack_tokens: int) -> list[Callable[[], Batch]]:
    """How to make each pack of some examples; a single long example still makes a pack."""
    if not len(rows):
        return []
    lengths_W = np.asarray(features.lengths_W)
    parts = _cut(rows, lengths_W, max(pack_tokens, int(lengths_W.max())))
    return [functools.partial(features.assemble, part) for part in parts]


def _cut(rows: np.ndarray, lengths_W: np.ndarray, pack_tokens: int) -> list[np.ndarray]:
    borders = pack_boundaries(lengths_W[rows], pack_tokens)
    return [rows[first:last] for first, last in itertools.pairwise(borders)]
