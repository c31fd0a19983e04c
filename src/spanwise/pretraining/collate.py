"""Make batches: rows of a block table -> pack -> spans -> replaced ids -> targets -> batch.

All of it is a pure function of (store, recipe parts, seed, epoch, block id): a sequence is masked alike whatever else
is in its pack. Letters: T tokens in the pack, S sequences.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from spanwise.data.batch import Batch
from spanwise.data.token_store import TokenStore
from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import ConfigError
from spanwise.nn.sequences import Sequences
from spanwise.pretraining.corruption.base import DRAWS, Corruption, Draws, Symbols, draws_for
from spanwise.pretraining.formats.base import BlockTable, InputFormat
from spanwise.pretraining.formats.checked import pack_of
from spanwise.pretraining.formats.side_arrays import WordUnit, check_side_arrays, side_arrays_of, with_side_arrays
from spanwise.pretraining.masking.alias import AliasTable
from spanwise.pretraining.masking.base import (
    MaskingScheme,
    ReplacementScheme,
    ShorteningReplacement,
    bound,
    budgets,
    counts_spans,
    least_room,
)
from spanwise.pretraining.masking.checked import selected
from spanwise.pretraining.masking.merge import hidden_tokens
from spanwise.pretraining.masking.questions import shorten
from spanwise.pretraining.needs import check_needs
from spanwise.pretraining.objectives.base import Capacities, Objective, Targets, filled_up, sizes_of
from spanwise.pretraining.packing.shape import ROW_MULTIPLE, PackShape, grown, tried_sizes
from spanwise.pretraining.packs import Hidden, Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import keys_for

_NOTHING = Symbols()


@dataclass(frozen=True, kw_only=True)
class PackParts:
    """How text becomes packs, and what a pack may hold.

    A pack closes at the first of its capacities: `max_tokens` (specials included, before a replacement shortens
    anything), `max_sequences`, `max_targets` (hidden tokens). With `fixed` every pack then gets the shape of a full
    one; where a replacement shortens, that of what it leaves of one (`shape`). `num_maskings` = k repeats the
    sequences and masks of the first k epochs (static masking; 1 for validation), None draws new ones at every epoch.
    `word_unit` says what counts as a word.

    Raises: ConfigError where an objective or the replacement asks for what none of the other parts gives, and for
    capacities that no sequence fits.
    """

    format: InputFormat
    masking: MaskingScheme
    replacement: ReplacementScheme
    objectives: Mapping[str, Objective]
    corruption: Corruption = _NOTHING
    word_unit: WordUnit = "word"
    num_maskings: int | None = None
    max_tokens: int | None = None  # None: as many as one sequence
    max_sequences: int | None = None
    max_targets: int | None = None
    fixed: bool = False
    shape: PackShape | None = None

    def __post_init__(self) -> None:
        check_needs(self.format, self.trained_objectives, self.masking, self.corruption, self.replacement)
        if self.num_maskings is not None and self.num_maskings < 1:
            raise ConfigError(
                f"num_maskings must be at least 1, or None for new maskings always; got {self.num_maskings}."
            )
        if self.tokens_of_pack < self.format.max_length:
            raise ConfigError(
                f"max_tokens={self.max_tokens} holds no sequence of format.max_length={self.format.max_length}; "
                "raise max_tokens or lower max_length."
            )

    @property
    def tokens_of_pack(self) -> int:
        """The most tokens of a pack."""
        most = self.format.max_length if self.max_tokens is None else self.max_tokens
        return -(-most // ROW_MULTIPLE) * ROW_MULTIPLE if self.fixed else most

    def settled(self, tables: Sequence[BlockTable]) -> "PackParts":
        """Return the parts with capacities for sequences and targets where packs are to have one shape.

        Both follow from the mean length of the blocks and are ample: packs close at the tokens, and no mask is cut.
        Where a replacement shortens, most of what is hidden is no target, and where a masking counts spans or is made
        of two, `ratio` does not say how many tokens it hides. The masking has no capacity then; tried packs say how
        many targets there are.
        """
        if not self.fixed:
            return self
        mean = sum(int(table.packed_lengths.sum()) for table in tables) / sum(table.num_blocks for table in tables)
        usual, multiple = self.tokens_of_pack / mean, 8
        num_sequences = multiple * math.ceil((1.5 * usual + multiple) / multiple)
        if self.max_sequences is not None:
            num_sequences = min(num_sequences, self.max_sequences)
        num_targets, shortens = self.max_targets, isinstance(self.replacement, ShorteningReplacement)
        if num_targets is None and self.masking.ratio > 0 and not shortens and self._ratio_says_all:
            asked = self.masking.ratio * self.tokens_of_pack + usual + multiple  # a budget is rounded up
            num_targets = ROW_MULTIPLE * math.ceil(asked / ROW_MULTIPLE)
        return replace(self, max_sequences=num_sequences, max_targets=num_targets)

    @property
    def _ratio_says_all(self) -> bool:
        """Whether the masking hides the share `ratio` of a pack's tokens, but for the rest of its last words."""
        pack = np.array([self.tokens_of_pack])
        is_of_one = bool((least_room(self.masking, pack) == budgets(self.masking.ratio, pack)).all())
        return is_of_one and not counts_spans(self.masking)

    def shaped(self, tried: Mapping[str, tuple[float, ...]]) -> "PackParts":
        """Return settled parts with the shape of all packs, by what some of them need."""
        assert self.max_sequences is not None
        shape = PackShape(
            tokens=self.tokens_of_pack,
            sequences=self.max_sequences,
            targets=self.max_targets,
            longest=self.format.max_length,
            shortens=isinstance(self.replacement, ShorteningReplacement),
            tried=tried,
        )
        return replace(self, shape=shape)

    @property
    def capacities(self) -> Capacities | None:
        """What every pack is filled up to; None where each is as large as its content."""
        return None if self.shape is None else self.shape.capacities()

    @property
    def trained_objectives(self) -> dict[str, Objective]:
        """All that has targets, by name: the objectives, and those that the corruption learns itself."""
        return {**self.corruption.objectives, **self.objectives}

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that the vocabulary must have a piece for, beside those of every encoder."""
        parts = (self.masking, self.replacement, *self.trained_objectives.values())
        return tuple(dict.fromkeys(role for part in parts for role in getattr(part, "roles", ())))

    @property
    def side_arrays(self) -> tuple[str, ...]:
        """The side arrays that a store must have."""
        return side_arrays_of(self.masking, self.word_unit)


@dataclass(frozen=True, kw_only=True)
class Masked:
    """A pack with what was hidden in it, in places of the pack as the encoder reads it.

    Where the replacement shortens, the masking saw a longer pack: `text`, in which it had `chosen` what to hide.
    """

    pack: Pack  # the original ids
    spans: Spans
    hidden: Hidden
    input_ids: np.ndarray  # [T] int64, what the encoder reads, or the generator before it
    draws: np.ndarray | None = None  # [N] float64: a random number for each hidden token, where a corruption samples
    text: Pack | None = None  # the pack that the masking saw, where it is another
    chosen: Spans | None = None  # what the masking chose in it

    @property
    def num_chosen(self) -> int:
        """How many tokens the masking chose."""
        spans = self.spans if self.chosen is None else self.chosen
        return int((spans.end - spans.start).sum())


class Collator:
    """Makes the batches of one store and one set of recipe parts.

    `random_ids` is the law of random tokens, by default that of the store, and `counted` has the counts that a masking
    may ask for, such as those that tell stop words. Raises: DataError where the store lacks a side array.
    """

    def __init__(
        self,
        store: TokenStore,
        parts: PackParts,
        *,
        seed: int,
        random_ids: AliasTable | None = None,
        counted: Vocabulary | None = None,
    ) -> None:
        self.store = store
        self.parts = parts
        self.seed = seed
        self.format = parts.format
        self.masking = bound(parts.masking, store.vocabulary if counted is None else counted)
        self.objectives = parts.trained_objectives
        check_side_arrays(store, parts.side_arrays)
        self._random_ids = parts.replacement.random_ids(store.vocabulary) if random_ids is None else random_ids

    def repeated(self, epoch: int) -> int:
        """Return the epoch whose sequences and masks this epoch shows."""
        return epoch if self.parts.num_maskings is None else epoch % self.parts.num_maskings

    def masked(self, table: BlockTable, rows: np.ndarray, epoch: int, *, capacity: int | None = None) -> Masked:
        """Return the pack of the blocks `rows` [S], masked as this epoch masks them.

        `capacity` is the most tokens to hide where the pack is a part of another; by default `max_targets`.
        """
        pack = pack_of(self.format, self.store, table, rows)
        if self.parts.side_arrays:
            pack = with_side_arrays(pack, self.store, table, rows, self.parts.side_arrays, self.parts.word_unit)
        return self.mask(pack, epoch, capacity=capacity)

    def mask(self, pack: Pack, epoch: int, *, capacity: int | None = None) -> Masked:
        """Choose spans and replace them; the pack itself stays as it is."""
        epoch = self.repeated(epoch)
        select_keys_S = keys_for(self.seed, "masking", epoch, pack.block_ids)
        replace_keys_S = keys_for(self.seed, "replacement", epoch, pack.block_ids)
        capacity = self.parts.max_targets if capacity is None else capacity
        replacement = self.parts.replacement
        spans = selected(self.masking, pack, select_keys_S, capacity=capacity)
        input_ids = replacement.apply(pack, spans, replace_keys_S, self.store.vocabulary, self._random_ids)
        masked = Masked(pack=pack, spans=spans, hidden=hidden_tokens(pack, spans), input_ids=input_ids)
        if isinstance(replacement, ShorteningReplacement):
            masked = _shortened(masked, replacement)
        if self.parts.corruption.samples:
            draw_keys_S = keys_for(self.seed, "sampling", epoch, pack.block_ids)
            hidden = masked.hidden
            draws = draws_for(masked.pack.borders, hidden.position, hidden.sequence, draw_keys_S)
            masked = replace(masked, draws=draws)
        return masked

    def batch(self, masked: Masked, capacities: Capacities | None = None) -> Batch:
        """Return what travels to the model, with the targets and counts of every objective.

        capacities: of packs that are not cut as this collator's are; None: its own, where packs have one shape.
        """
        pack, capacities = masked.pack, capacities or self.parts.capacities
        targets, is_usual = self._targets(masked), True
        counts = {name: target.count for name, target in targets.items()}
        if masked.draws is not None:
            targets[DRAWS] = Draws(uniform=torch.from_numpy(masked.draws))
        num_filler = -len(masked.input_ids) % ROW_MULTIPLE
        if capacities is None:
            sequences = sequences_of(pack, num_filler, self.format.max_length)
        else:
            foreseen, capacities = capacities, grown(capacities, _sizes(masked, targets))
            is_usual = capacities == foreseen
            num_filler = capacities.tokens - len(masked.input_ids)
            sequences = sequences_of(pack, num_filler, self.format.max_length, capacities.sequences)
            targets = {name: filled_up(target, capacities) for name, target in targets.items()}
        filler_id = max(0, self.store.vocabulary.pad_id)  # nothing reads it; GPT-1's tokenizer has no [PAD]
        return Batch(
            input_ids=torch.from_numpy(_lengthened(masked.input_ids, num_filler, filler_id)),
            token_type_ids=torch.from_numpy(_lengthened(pack.token_type_ids, num_filler, 0)),
            sequences=sequences,
            targets=targets,
            counts=counts,
            num_padding=num_filler,
            ids=tuple(pack.block_ids.tolist()),
            is_usual=is_usual,
        )

    def tried(self, packs: Iterable[Masked]) -> dict[str, tuple[float, ...]]:
        """Return what some packs need of each capacity, as if each had been full."""
        packs = list(packs)
        fill = [len((one.text or one.pack).input_ids) / self.parts.tokens_of_pack for one in packs]
        shortens = isinstance(self.parts.replacement, ShorteningReplacement)
        may_close_at_targets = self.parts.max_targets is not None and not shortens
        whole = ("targets",) if may_close_at_targets else ()  # a pack that closed at these is full of them
        return tried_sizes([_sizes(one, self._targets(one)) for one in packs], fill, as_they_are=whole)

    def _targets(self, masked: Masked) -> dict[str, Targets]:
        return {
            name: objective.targets(masked.pack, masked.spans, masked.hidden)
            for name, objective in self.objectives.items()
        }


def _sizes(masked: Masked, targets: Mapping[str, Targets]) -> dict[str, int]:
    """What a pack needs of each capacity."""
    sizes = {"tokens": len(masked.input_ids)}
    for one in targets.values():
        for name, size in sizes_of(one).items():
            sizes[name] = max(size, sizes.get(name, 0))
    return sizes


def _shortened(masked: Masked, replacement: ShorteningReplacement) -> Masked:
    pack, spans, hidden, input_ids = shorten(
        masked.pack,
        masked.spans,
        masked.hidden,
        masked.input_ids,
        replacement.shortened(masked.spans),
        stays=replacement.keeps_positions,
    )
    return Masked(pack=pack, spans=spans, hidden=hidden, input_ids=input_ids, text=masked.pack, chosen=masked.spans)


def _lengthened(values_T: np.ndarray, count: int, value: int) -> np.ndarray:
    return np.concatenate([values_T, np.full(count, value, dtype=values_T.dtype)])


def sequences_of(pack: Pack, num_filler: int = 0, longest: int = 1, capacity: int | None = None) -> Sequences:
    """Return the borders and positions of a pack, with sequences of filler behind it, none longer than `longest`.

    capacity: the number of sequences that every pack is brought to by some without a token.
    """
    ends = [min(first + longest, num_filler) for first in range(0, num_filler, longest)]
    borders = np.concatenate([pack.borders, pack.borders[-1] + np.array(ends, dtype=pack.borders.dtype)])
    cu_seqlens, positions_T = _places(borders)
    if capacity is not None:
        cu_seqlens = _lengthened(cu_seqlens, capacity + 1 - len(cu_seqlens), int(cu_seqlens[-1]))
    num_positions = 0
    if pack.positions is not None:
        positions_T[: len(pack.positions)] = pack.positions
        num_positions = int(pack.positions.max(initial=-1)) + 1 if capacity is None else longest
    return Sequences(
        lengths=tuple(np.diff(borders).tolist()),
        cu_seqlens=torch.from_numpy(cu_seqlens),
        positions=torch.from_numpy(positions_T),
        num_positions=num_positions,
        longest=0 if capacity is None else longest,
    )


@njit
def _places(borders):
    positions_T = np.empty(borders[-1], dtype=np.int64)
    for s in range(len(borders) - 1):
        places = positions_T[borders[s] : borders[s + 1]]
        for i in range(len(places)):
            places[i] = i
    return borders.astype(np.int32), positions_T
