"""The batches of a pre-training run: which blocks meet in which step.

A step is an index. Epochs are laid end to end as packs, and step k owns the packs k * S to (k + 1) * S, so there is
no iterator and nothing to save: resuming at any step costs the same. Letters: S packs of a step, n blocks, p packs.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from spanwise.data.packing import full_packs, pack_boundaries
from spanwise.data.token_store import TokenStore
from spanwise.data.vocabulary import Vocabulary
from spanwise.pretraining.collate import Collator, Masked, PackParts
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.masking.base import least_room
from spanwise.pretraining.mixtures.steps import BlockStream, LaidEpoch, Order, PackedSteps, Position

_KEPT_EPOCHS = 2  # a step may lie across the border of two


@dataclass(frozen=True, kw_only=True)
class _Epoch:
    laid: LaidEpoch
    borders: np.ndarray  # [p+1] int64, packs cut out of its blocks in visiting order
    tokens: np.ndarray  # [p+1] int64, tokens before each pack, specials included


class PretrainingSource(PackedSteps):
    """A `BatchSource`: `step(index)` is a pure function of (store, recipe parts, seed, index).

    With `order="stored"` every epoch visits the blocks as they are stored (validation). `counted` as in `Collator`.

    Raises: ConfigError as `Collator`; DataError for a store without text.
    """

    def __init__(
        self,
        store: TokenStore,
        parts: PackParts,
        *,
        seed: int,
        packs_per_step: int = 1,
        order: Order = "shuffled",
        counted: Vocabulary | None = None,
    ) -> None:
        super().__init__(Collator(store, parts, seed=seed, counted=counted), packs_per_step)
        self._stream = BlockStream(self.collator, order=order, num_kept=_KEPT_EPOCHS)
        self.collator.parts = parts.settled([self._stream.epoch(0).table])
        self._lock = threading.Lock()  # the prefetch thread makes steps while the loop asks for positions
        self._kept = lru_cache(_KEPT_EPOCHS)(self._cut)
        self._first_packs = [0]  # first pack of epoch e, over all epochs laid end to end
        self._first_tokens = [0]  # and the tokens before it
        self._epoch(0)
        self._give_shape()

    @property
    def table(self) -> BlockTable:
        """The blocks of epoch 0: how many there are, how long, what was dropped or repeated."""
        return self._epoch(0).laid.table

    @property
    def tables(self) -> list[tuple[BlockTable, float]]:
        """The blocks of epoch 0 and their share of all tokens: 1, as there is one store."""
        return [(self.table, 1.0)]

    def num_packs(self, epoch: int) -> int:
        """Return the number of packs of an epoch; it differs a little from epoch to epoch."""
        return len(self._epoch(epoch).borders) - 1

    def position(self, index: int) -> Position:
        """Return where step `index` begins: epochs passed (as a fraction) and tokens of text passed."""
        epoch, pack = self._locate(index * self.packs_per_step)
        tokens = self._first_tokens[epoch] + int(self._epoch(epoch).tokens[pack])
        return {"epoch": epoch + pack / self.num_packs(epoch), "tokens": tokens}

    def epoch_masked(self, epoch: int = 0) -> Iterator[Masked]:
        """Give all packs of one epoch before they become tensors."""
        for pack in range(self.num_packs(epoch)):
            yield self._masked_in(epoch, pack)

    def masked(self, pack: int) -> Masked:
        """Return a pack, counted over all epochs."""
        return self._masked_in(*self._locate(pack))

    def _masked_in(self, epoch: int, pack: int) -> Masked:
        found = self._epoch(epoch)
        rows = found.laid.order[found.borders[pack] : found.borders[pack + 1]]
        return self.collator.masked(found.laid.table, rows, epoch)

    def _locate(self, pack: int) -> tuple[int, int]:
        """Find a pack of all epochs laid end to end: (epoch, pack of that epoch)."""
        if pack < 0:
            raise ValueError(f"a step index is 0 or more, got pack {pack}")
        while self._first_packs[-1] <= pack:
            self._epoch(len(self._first_packs) - 1)
        epoch = int(np.searchsorted(self._first_packs, pack, side="right")) - 1
        return epoch, pack - self._first_packs[epoch]

    def _epoch(self, epoch: int) -> _Epoch:
        with self._lock:
            found = self._kept(epoch)
            if epoch == len(self._first_packs) - 1:
                self._first_tokens.append(self._first_tokens[-1] + int(found.tokens[-1]))
                self._first_packs.append(self._first_packs[-1] + len(found.borders) - 1)
            return found

    def _cut(self, epoch: int) -> _Epoch:
        """Cut the blocks of an epoch into packs."""
        laid = self._stream.epoch(epoch)
        parts, lengths_n = self.collator.parts, laid.table.packed_lengths_of(laid.order)
        num_targets = None
        if parts.max_targets is not None:
            num_targets = least_room(self.collator.masking, laid.table.text_lengths[laid.order])
        room, sequences, targets = parts.tokens_of_pack, parts.max_sequences, parts.max_targets
        if parts.fixed:
            places_n, borders = full_packs(lengths_n, room, sequences, num_targets=num_targets, max_targets=targets)
            laid, lengths_n = replace(laid, order=laid.order[places_n]), lengths_n[places_n]
        else:
            borders = pack_boundaries(lengths_n, room, sequences, num_targets=num_targets, max_targets=targets)
        tokens = np.zeros(len(borders), dtype=np.int64)
        np.cumsum(np.add.reduceat(lengths_n, borders[:-1]), out=tokens[1:])
        return _Epoch(laid=laid, borders=borders, tokens=tokens)
