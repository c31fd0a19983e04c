"""The batches of a pre-training run: which blocks meet in which step.

A step is an index. Epochs are laid end to end as packs, and step k owns the packs k * S to (k + 1) * S, so there is
no iterator and nothing to save: resuming at any step costs the same. Letters: S packs of a step, n blocks, p packs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from spanwise.data.batch import Batch
from spanwise.data.order import permutation
from spanwise.data.packing import pack_boundaries
from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError, DataError
from spanwise.pretraining.collate import Collator, Masked
from spanwise.pretraining.corruption.base import Corruption
from spanwise.pretraining.formats.base import BlockTable, InputFormat
from spanwise.pretraining.masking.base import MaskingScheme, budgets
from spanwise.pretraining.masking.nothing import NoReplacement
from spanwise.pretraining.masking.replacement import Replacement
from spanwise.pretraining.objectives.base import Objective
from spanwise.pretraining.side_arrays import WordUnit

_KEPT_EPOCHS = 2  # a step may lie across the border of two


@dataclass(frozen=True, kw_only=True)
class _Epoch:
    table: BlockTable
    order: np.ndarray  # [n] int64, block ids in visiting order
    borders: np.ndarray  # [p+1] int64, packs cut out of `order`
    tokens: np.ndarray  # [p+1] int64, tokens before each pack, specials included


class PretrainingSource:
    """A `BatchSource`: `step(index)` is a pure function of (store, recipe parts, seed, index).

    A pack closes at the first of its capacities: `max_tokens` (specials included), `max_sequences`, `max_targets`.
    With `num_maskings` = k an epoch shows the sequences and masks of k epochs before, in other packs (static masking).
    With `order="stored"` every epoch visits the blocks as they are stored (validation).

    Raises: ConfigError for capacities that no block fits; DataError for a store without text.
    """

    def __init__(
        self,
        store: TokenStore,
        *,
        format: InputFormat,
        masking: MaskingScheme,
        replacement: Replacement | NoReplacement,
        objectives: Mapping[str, Objective],
        seed: int,
        max_tokens: int,
        max_sequences: int | None = None,
        max_targets: int | None = None,
        packs_per_step: int = 1,
        num_maskings: int | None = None,
        order: Literal["shuffled", "stored"] = "shuffled",
        word_unit: WordUnit = "word",
        corruption: Corruption | None = None,
    ) -> None:
        if packs_per_step < 1:
            raise ConfigError(f"packs_per_step must be at least 1, got {packs_per_step}.")
        if max_tokens < format.max_length:
            raise ConfigError(
                f"max_tokens={max_tokens} holds no sequence of format.max_length={format.max_length}; "
                "raise max_tokens or lower max_length."
            )
        self.collator = Collator(
            store,
            format=format,
            masking=masking,
            replacement=replacement,
            objectives=objectives,
            seed=seed,
            num_maskings=num_maskings,
            max_targets=max_targets,
            word_unit=word_unit,
            corruption=corruption,
        )
        self.packs_per_step = packs_per_step
        self._max_tokens = max_tokens
        self._max_sequences = max_sequences
        self._max_targets = max_targets
        self._order = order
        self._lock = threading.Lock()  # the prefetch thread makes steps while the loop asks for positions
        self._table: BlockTable | None = None
        self._epochs: dict[int, _Epoch] = {}
        self._first_packs = [0]  # first pack of epoch e, over all epochs laid end to end
        self._first_tokens = [0]  # and the tokens before it
        self._epoch(0)

    @property
    def table(self) -> BlockTable:
        """The blocks of epoch 0: how many there are, how long, what was dropped or repeated."""
        return self._epoch(0).table

    @property
    def tables(self) -> list[tuple[BlockTable, float]]:
        """The blocks of epoch 0 and their share of all tokens: 1, as there is one store."""
        return [(self.table, 1.0)]

    def num_packs(self, epoch: int) -> int:
        """Return the number of packs of an epoch; it differs a little from epoch to epoch."""
        return len(self._epoch(epoch).borders) - 1

    def step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Batch]:
        """Return the packs of one step, or of several processes' shares the one of process `rank`."""
        return [self.collator.batch(masked) for masked in self.masked_step(index, rank, num_ranks)]

    def masked_step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Masked]:
        """Return the packs of one step before they become tensors: what pictures and counts are made of."""
        first = index * self.packs_per_step
        packs = range(first + rank, first + self.packs_per_step, num_ranks)
        return [self._masked(*self._place(pack)) for pack in packs]

    def position(self, index: int) -> dict[str, float | int]:
        """Return where step `index` begins: epochs passed (as a fraction) and tokens passed."""
        epoch, pack = self._place(index * self.packs_per_step)
        tokens = self._first_tokens[epoch] + int(self._epoch(epoch).tokens[pack])
        return {"epoch": epoch + pack / self.num_packs(epoch), "tokens": tokens}

    def epoch_batches(self, epoch: int = 0) -> Iterator[Batch]:
        """Give all packs of one epoch, in order: an evaluation."""
        for masked in self.epoch_masked(epoch):
            yield self.collator.batch(masked)

    def epoch_masked(self, epoch: int = 0) -> Iterator[Masked]:
        """Give all packs of one epoch before they become tensors."""
        for pack in range(self.num_packs(epoch)):
            yield self._masked(epoch, pack)

    def _masked(self, epoch: int, pack: int) -> Masked:
        laid = self._epoch(epoch)
        rows = laid.order[laid.borders[pack] : laid.borders[pack + 1]]
        return self.collator.masked(laid.table, rows, epoch)

    def _place(self, pack: int) -> tuple[int, int]:
        """Find a pack of all epochs laid end to end: (epoch, pack of that epoch)."""
        if pack < 0:
            raise ValueError(f"a step index is 0 or more, got pack {pack}")
        while self._first_packs[-1] <= pack:
            self._epoch(len(self._first_packs) - 1)
        epoch = int(np.searchsorted(self._first_packs, pack, side="right")) - 1
        return epoch, pack - self._first_packs[epoch]

    def _epoch(self, epoch: int) -> _Epoch:
        with self._lock:
            laid = self._epochs.get(epoch)
            if laid is None:
                laid = self._epochs[epoch] = self._lay_out(epoch)
                while len(self._epochs) > _KEPT_EPOCHS:
                    self._epochs.pop(next(iter(self._epochs)))
                if epoch == len(self._first_packs) - 1:
                    self._first_tokens.append(self._first_tokens[-1] + int(laid.tokens[-1]))
                    self._first_packs.append(self._first_packs[-1] + len(laid.borders) - 1)
            return laid

    def _lay_out(self, epoch: int) -> _Epoch:
        collator = self.collator
        table = self._table
        if table is None or collator.format.changes_with_epoch:
            table = self._table = collator.format.blocks(collator.store, collator.seed, collator.repeated(epoch))
        n = table.num_blocks
        if n == 0:
            raise DataError("the token store holds no text; prepare a corpus that does.")
        order = np.arange(n) if self._order == "stored" else permutation(collator.seed, epoch, n)
        num_targets = None
        if self._max_targets is not None:
            num_targets = budgets(collator.masking.ratio, table.text_lengths[order])
        borders = pack_boundaries(
            table.packed_lengths[order],
            self._max_tokens,
            self._max_sequences,
            num_targets=num_targets,
            max_targets=self._max_targets,
        )
        tokens = np.concatenate([[0], np.cumsum(table.packed_lengths[order], dtype=np.int64)])[borders]
        return _Epoch(table=table, order=order, borders=borders, tokens=tokens)
