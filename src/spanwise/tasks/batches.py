"""Labelled examples as packs: shuffled steps of a fixed number of examples for training, one pass for prediction.

Letters: W examples in all (windows of question answering), B examples per step.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
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


def prediction_packs(features: Features, pack_tokens: int) -> Iterator[Batch]:
    """Every example once, in order, in packs of at most `pack_tokens` tokens.

    A small pack ends in filler, so that an example's outputs do not depend on which others share its pack.
    """
    lengths_W = np.asarray(features.lengths_W)
    if not len(lengths_W):
        return
    for rows in _cut(np.arange(len(lengths_W)), lengths_W, max(pack_tokens, int(lengths_W.max()))):
        yield filled(features.assemble(rows), MIN_PACK_TOKENS)


def filled(batch: Batch, min_tokens: int) -> Batch:
    """The batch with short sequences of id 0 behind it up to `min_tokens` tokens; they count as padding."""
    lacking = min_tokens - len(batch.input_ids)
    if lacking <= 0:
        return batch
    short = [8] * (lacking // 8) + ([lacking % 8] if lacking % 8 else [])  # fits encoders of few positions
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
