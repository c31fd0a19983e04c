"""Labelled examples as packs: shuffled steps of a fixed number of examples for training, one pass for prediction.

Letters: W examples in all (windows of question answering), B examples a step.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from spanwise.data.batch import Batch
from spanwise.data.order import permutation
from spanwise.data.packing import pack_boundaries
from spanwise.errors import ConfigError
from spanwise.tasks.base import Features


class EpochBatches:
    """The steps of fine-tuning: B examples each, a new order every epoch, the rest of an epoch in a smaller last step.

    A step is cut into packs of at most `pack_tokens` tokens; how it is cut changes nothing but speed and memory,
    because losses are sums. Every step is a pure function of its index, so a run can start at any of them.
    """

    def __init__(self, features: Features, *, batch_size: int, pack_tokens: int, seed: int) -> None:
        if batch_size < 1:
            raise ConfigError(f"batch_size must be at least 1, got {batch_size}.")
        self.features, self.batch_size, self.seed = features, batch_size, seed
        self.lengths_W = np.asarray(features.lengths_W)
        self.pack_tokens = max(pack_tokens, int(self.lengths_W.max()))  # a single long example still makes a pack
        self.steps_per_epoch = -(-len(self.lengths_W) // batch_size)
        self._epoch = -1
        self._order_W = np.zeros(0, dtype=np.int64)

    def step(self, index: int) -> list[Batch]:
        """The packs of step `index`, counted from 0 over all epochs."""
        epoch, place = divmod(index, self.steps_per_epoch)
        if epoch != self._epoch:
            self._order_W, self._epoch = permutation(self.seed, epoch, len(self.lengths_W)), epoch
        rows = self._order_W[place * self.batch_size : (place + 1) * self.batch_size]
        return [self.features.assemble(part) for part in _cut(rows, self.lengths_W, self.pack_tokens)]

    def position(self, index: int) -> dict[str, float]:
        return {"epoch": index / self.steps_per_epoch}


def prediction_packs(features: Features, pack_tokens: int) -> Iterator[Batch]:
    """Every example once, in order, in packs of at most `pack_tokens` tokens."""
    lengths_W = np.asarray(features.lengths_W)
    if not len(lengths_W):
        return
    for rows in _cut(np.arange(len(lengths_W)), lengths_W, max(pack_tokens, int(lengths_W.max()))):
        yield features.assemble(rows)


def _cut(rows: np.ndarray, lengths_W: np.ndarray, pack_tokens: int) -> list[np.ndarray]:
    borders = pack_boundaries(lengths_W[rows], pack_tokens)
    return [rows[first:last] for first, last in itertools.pairwise(borders)]
