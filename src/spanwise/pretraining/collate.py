"""Rows of a block table -> pack -> spans -> replaced ids -> targets -> batch.

All of it is a pure function of (store, recipe parts, seed, epoch, block id): a sequence is masked alike whatever else
is in its pack. Letters: T tokens in the pack, S sequences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from spanwise.data.batch import Batch
from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError
from spanwise.nn.sequences import Sequences
from spanwise.pretraining.corruption.base import DRAWS, Corruption, Draws, draws_for
from spanwise.pretraining.corruption.symbols import Symbols
from spanwise.pretraining.formats.base import BlockTable, InputFormat
from spanwise.pretraining.masking.alias import AliasTable
from spanwise.pretraining.masking.base import MaskingScheme, bound
from spanwise.pretraining.masking.merge import hidden_tokens
from spanwise.pretraining.masking.nothing import NoReplacement
from spanwise.pretraining.masking.replacement import Replacement
from spanwise.pretraining.needs import check_needs
from spanwise.pretraining.objectives.base import Objective
from spanwise.pretraining.packs import Hidden, Pack, Spans
from spanwise.pretraining.side_arrays import WordUnit, check_side_arrays, side_arrays_of, with_side_arrays
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import keys_for

ROW_MULTIPLE = 64
"""Tokens of a batch are a multiple of this. oneDNN compiles a matrix product for every number of rows that it is asked
for, and packs of a few thousand tokens all differ; a last sequence of fewer than 64 [PAD] makes them alike."""


@dataclass(frozen=True, kw_only=True)
class Masked:
    """A pack with what was hidden in it."""

    pack: Pack  # the original ids
    spans: Spans
    hidden: Hidden
    input_ids: np.ndarray  # [T] int64, what the encoder reads, or the generator before it
    draws: np.ndarray | None = None  # [N] float64: a random number for each hidden token, where a corruption samples


class Collator:
    """Makes the batches of one store and one set of recipe parts.

    `num_maskings` = k repeats the maskings of the first k epochs (static masking; 1 for validation), None draws new
    ones at every epoch. `max_targets` is the most hidden tokens of a pack. `word_unit` says what counts as a word. A
    batch has the targets of the objectives and of those that the corruption learns itself. `random_ids` is the law of
    random tokens, by default that of the store.

    Raises: ConfigError where an objective asks for what none of the other parts gives; DataError where the store lacks
    a side array.
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
        num_maskings: int | None = None,
        max_targets: int | None = None,
        word_unit: WordUnit = "word",
        corruption: Corruption | None = None,
        random_ids: AliasTable | None = None,
    ) -> None:
        corruption = corruption or Symbols()
        trained = {**corruption.objectives, **objectives}
        check_needs(format, trained, masking, corruption)
        if num_maskings is not None and num_maskings < 1:
            raise ConfigError(f"num_maskings must be at least 1, or None for new maskings always; got {num_maskings}.")
        self.store = store
        self.format = format
        self.masking = bound(masking, store.vocabulary)
        self.replacement = replacement
        self.objectives = trained
        self.corruption = corruption
        self.seed = seed
        self.num_maskings = num_maskings
        self.max_targets = max_targets
        self._word_unit = word_unit
        self._side_arrays = side_arrays_of(masking, word_unit)
        check_side_arrays(store, self._side_arrays)
        self._random_ids = replacement.random_ids(store.vocabulary) if random_ids is None else random_ids

    def repeated(self, epoch: int) -> int:
        """Return the epoch whose sequences and masks this epoch shows."""
        return epoch if self.num_maskings is None else epoch % self.num_maskings

    def masked(self, table: BlockTable, rows: np.ndarray, epoch: int, *, capacity: int | None = None) -> Masked:
        """Return the pack of the blocks `rows` [S], masked as this epoch masks them.

        `capacity` is the most tokens to hide where the pack is a part of another; by default `max_targets`.
        """
        pack = self.format.assemble(self.store, table, rows)
        if self._side_arrays:
            pack = with_side_arrays(pack, self.store, table, rows, self._side_arrays, self._word_unit)
        return self.mask(pack, epoch, capacity=capacity)

    def mask(self, pack: Pack, epoch: int, *, capacity: int | None = None) -> Masked:
        """Choose spans and replace them; the pack itself stays as it is."""
        epoch = self.repeated(epoch)
        select_keys_S = keys_for(self.seed, "masking", epoch, pack.block_ids)
        replace_keys_S = keys_for(self.seed, "replacement", epoch, pack.block_ids)
        spans = self.masking.select(pack, select_keys_S, capacity=self.max_targets if capacity is None else capacity)
        hidden = hidden_tokens(pack, spans)
        input_ids = self.replacement.apply(pack, spans, replace_keys_S, self.store.vocabulary, self._random_ids, hidden)
        draws = None
        if self.corruption.samples:
            draw_keys_S = keys_for(self.seed, "sampling", epoch, pack.block_ids)
            draws = draws_for(pack.borders, hidden.position, hidden.sequence, draw_keys_S)
        return Masked(pack=pack, spans=spans, hidden=hidden, input_ids=input_ids, draws=draws)

    def batch(self, masked: Masked) -> Batch:
        """Return what travels to the model, with the targets and counts of every objective."""
        pack = masked.pack
        targets: dict[str, Any] = {
            name: objective.targets(pack, masked.spans, masked.hidden) for name, objective in self.objectives.items()
        }
        counts = {name: target.count for name, target in targets.items()}
        if masked.draws is not None:
            targets[DRAWS] = Draws(uniform=torch.from_numpy(masked.draws))
        num_filler = -len(masked.input_ids) % ROW_MULTIPLE
        filler_id = max(0, self.store.vocabulary.pad_id)  # nothing reads it; GPT-1's tokenizer has no [PAD]
        return Batch(
            input_ids=torch.from_numpy(_lengthened(masked.input_ids, num_filler, filler_id)),
            token_type_ids=torch.from_numpy(_lengthened(pack.token_type_ids, num_filler, 0)),
            sequences=_sequences(_with_filler(pack.borders, num_filler, self.format.max_length)),
            targets=targets,
            counts=counts,
            num_padding=num_filler,
            ids=tuple(pack.block_ids.tolist()),
        )


def _lengthened(values_T: np.ndarray, count: int, value: int) -> np.ndarray:
    return np.concatenate([values_T, np.full(count, value, dtype=values_T.dtype)])


def _with_filler(borders: np.ndarray, count: int, longest: int) -> np.ndarray:
    """Borders with sequences of filler at the end, none longer than the encoder has positions for."""
    ends = [min(first + longest, count) for first in range(0, count, longest)]
    return np.concatenate([borders, borders[-1] + np.array(ends, dtype=borders.dtype)])


def _sequences(borders: np.ndarray) -> Sequences:
    """`Sequences.from_lengths`, compiled: this is made for every pack."""
    cu_seqlens, positions_T = _places(borders)
    return Sequences(
        lengths=tuple(np.diff(borders).tolist()),
        cu_seqlens=torch.from_numpy(cu_seqlens),
        positions=torch.from_numpy(positions_T),
    )


@njit
def _places(borders):
    positions_T = np.empty(borders[-1], dtype=np.int64)
    for s in range(len(borders) - 1):
        places = positions_T[borders[s] : borders[s + 1]]
        for i in range(len(places)):
            places[i] = i
    return borders.astype(np.int32), positions_T
