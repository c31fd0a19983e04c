"""The batches of a run that reads several stores, each with its share of the tokens.

The next block always comes from the store that is furthest behind its share, so that after every block each store has
its share of all tokens to within one block of each. Where a step falls is found by walking from the start of the run, a
chunk of blocks at a time; the walk is compiled and keeps only where each chunk begins.
Letters: c stores, m blocks of a chunk, p packs of a chunk.
"""

import threading
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from spanwise.data.packing import pack_boundaries
from spanwise.pretraining.collate import Collator, Masked, PackParts
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.masking.base import least_room
from spanwise.pretraining.masking.merge import join_spans, move
from spanwise.pretraining.mixtures.mixture import Mixture
from spanwise.pretraining.mixtures.steps import BlockStream, PackedSteps, Position
from spanwise.pretraining.packs import Hidden, Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import derive_key

CHUNK_BLOCKS = 1 << 15
_AHEAD_BLOCKS = 1 << 12  # looked at before the ends of epochs are
_KEPT_CHUNKS = 2  # a step may lie across the border of two
STORE_IDS = 10**10
"""Block ids of the k-th store begin at k times this in a batch, so that a bad block is found again."""


@dataclass(frozen=True, kw_only=True)
class _Begin:
    """The place where a chunk begins, in every store and over all packs."""

    places: tuple[int, ...]  # [c] in the stream of each store
    tokens: tuple[int, ...]  # [c] read of each store
    pack: int  # over all chunks


@dataclass(frozen=True, kw_only=True)
class _Chunk:
    begin: _Begin
    stores: np.ndarray  # [m] int64, which store each block is of
    lengths: np.ndarray  # [m] int64, tokens of each block, specials included
    borders: np.ndarray  # [p+1] int64, packs cut out of the blocks


class MixedSource(PackedSteps):
    """A `BatchSource` over the stores of a mixture: `step(index)` is a pure function of (stores, shares, recipe parts,
    seed, index).

    Every store has an order and masks drawn from a seed of its own; packs hold blocks of all stores. An epoch is as
    many tokens as the first epochs of all stores hold together.

    Raises: ConfigError as `Collator`; DataError for a store without text.
    """

    def __init__(self, mixture: Mixture, parts: PackParts, *, seed: int, packs_per_step: int = 1) -> None:
        random_ids = parts.replacement.random_ids(mixture.vocabulary)
        collators = [
            Collator(part.store, parts, seed=derive_key(seed, "mixture", number), random_ids=random_ids)
            for number, part in enumerate(mixture.parts)
        ]
        super().__init__(collators[0], packs_per_step)
        self.mixture = mixture
        self._streams = [BlockStream(collator) for collator in collators]
        self._shares = np.array([part.share for part in mixture.parts])
        self._tables = tuple(stream.epoch(0).table for stream in self._streams)
        self._parts = parts.settled(self._tables)
        for collator in collators:
            collator.parts = self._parts
        self._epoch_tokens = int(sum(table.packed_lengths.sum() for table in self._tables))
        self._chunk_blocks = max(CHUNK_BLOCKS, 2 * self._parts.tokens_of_pack)  # more than a pack can hold
        self._lock = threading.RLock()  # the prefetch thread makes steps while the loop asks for positions
        nothing = (0,) * len(self._streams)
        self._begins = [_Begin(places=nothing, tokens=nothing, pack=0)]
        self._kept = lru_cache(_KEPT_CHUNKS)(self._walk)
        self._give_shape()

    @property
    def tables(self) -> list[tuple[BlockTable, float]]:
        """The blocks of the first epoch of each store, and its share of the tokens."""
        return list(zip(self._tables, self._shares.tolist(), strict=True))

    def position(self, index: int) -> Position:
        """Return where step `index` begins: epochs and tokens passed, and the epochs of each store."""
        with self._lock:
            chunk, pack = self._locate(index * self.packs_per_step)
            before = chunk.borders[pack]
            tokens = sum(chunk.begin.tokens) + int(chunk.lengths[:before].sum())
            counts = np.bincount(chunk.stores[:before], minlength=len(self._streams))
            epochs = {
                part.name: stream.passed(place + int(count))
                for part, stream, place, count in zip(
                    self.mixture.parts, self._streams, chunk.begin.places, counts, strict=True
                )
            }
        return {"epoch": tokens / self._epoch_tokens, "tokens": tokens, "epochs": epochs}

    def masked(self, pack: int) -> Masked:
        """Return a pack, counted from the start of the run."""
        with self._lock:
            chunk, place = self._locate(pack)
            before, after = chunk.borders[place], chunk.borders[place + 1]
            passed = np.bincount(chunk.stores[:before], minlength=len(self._streams))
            taken = np.bincount(chunk.stores[before:after], minlength=len(self._streams))
            firsts = (np.array(chunk.begin.places) + passed).tolist()
            wanted = [
                (store, stream.epoch(epoch).table, rows, epoch)
                for store, (stream, first) in enumerate(zip(self._streams, firsts, strict=True))
                for epoch, rows in stream.rows(first, first + int(taken[store]))
            ]
        masking = self.collator.masking
        asked = [int(least_room(masking, table.text_lengths[rows]).sum()) for _, table, rows, _ in wanted]
        most = self._parts.max_targets
        spare = None if most is None else most - sum(asked)
        made = []
        for (store, table, rows, epoch), budget in zip(wanted, asked, strict=True):
            capacity = None if spare is None else budget + spare
            masked = self._streams[store].collator.masked(table, rows, epoch, capacity=capacity)
            if spare is not None:
                spare -= masked.num_chosen - budget
            made.append(_renamed(masked, store * STORE_IDS))
        return join_masked(made)

    def _locate(self, pack: int) -> tuple[_Chunk, int]:
        """Find a pack of the whole run: (chunk, pack of that chunk)."""
        if pack < 0:
            raise ValueError(f"a step index is 0 or more, got pack {pack}")
        while self._begins[-1].pack <= pack:
            self._chunk(len(self._begins) - 1)
        number = bisect_right(self._begins, pack, key=lambda begin: begin.pack) - 1
        return self._chunk(number), pack - self._begins[number].pack

    def _chunk(self, number: int) -> _Chunk:
        chunk = self._kept(number)
        if number == len(self._begins) - 1:
            self._begins.append(_after(chunk, len(self._streams)))
        return chunk

    def _walk(self, number: int) -> _Chunk:
        """Take the next blocks of all stores and cut them into packs; the last pack, cut short, is left to the next
        chunk."""
        begin = self._begins[number]
        size, places = self._chunk_blocks, list(begin.places)
        stores_m = np.empty(size, dtype=np.int64)
        columns = np.zeros((2, size), dtype=np.int64)  # tokens and targets of each block
        tokens_c = np.array(begin.tokens, dtype=np.int64)
        num_taken = 0
        while num_taken < size:
            ahead = [self._ahead(store, place) for store, place in enumerate(places)]
            ends_c = np.cumsum([part.shape[1] for part in ahead])
            first = num_taken
            num_taken = _take_turns(
                self._shares, tokens_c, np.concatenate(ahead, axis=1), ends_c, stores_m, columns, num_taken
            )
            taken = np.bincount(stores_m[first:num_taken], minlength=len(places)).tolist()
            places = [place + count for place, count in zip(places, taken, strict=True)]
        lengths_m, targets_m = columns
        borders = pack_boundaries(
            lengths_m,
            self._parts.tokens_of_pack,
            self._parts.max_sequences,
            num_targets=None if self._parts.max_targets is None else targets_m,
            max_targets=self._parts.max_targets,
        )[:-1]
        return _Chunk(begin=begin, stores=stores_m[: borders[-1]], lengths=lengths_m[: borders[-1]], borders=borders)

    def _ahead(self, store: int, place: int) -> np.ndarray:
        """Tokens and targets [2, k] of some blocks of a store from a place on, no further than its epoch ends."""
        stream = self._streams[store]
        epoch, inside = stream.locate(place)
        laid = stream.epoch(epoch)
        rows = laid.order[inside : inside + _AHEAD_BLOCKS]
        targets = np.zeros(len(rows), dtype=np.int64)
        if self._parts.max_targets is not None:
            targets = least_room(stream.collator.masking, laid.table.text_lengths[rows])
        return np.stack([laid.table.packed_lengths[rows], targets])


def _after(chunk: _Chunk, num_stores: int) -> _Begin:
    counts = np.bincount(chunk.stores, minlength=num_stores).tolist()
    tokens = np.bincount(chunk.stores, weights=chunk.lengths, minlength=num_stores).astype(np.int64).tolist()
    begin = chunk.begin
    return _Begin(
        places=tuple(place + count for place, count in zip(begin.places, counts, strict=True)),
        tokens=tuple(before + read for before, read in zip(begin.tokens, tokens, strict=True)),
        pack=begin.pack + len(chunk.borders) - 1,
    )


def _renamed(masked: Masked, first_id: int) -> Masked:
    return replace(masked, pack=replace(masked.pack, block_ids=masked.pack.block_ids + first_id))


@njit
def _take_turns(shares_c, tokens_c, ahead, ends_c, stores_m, columns, num_taken):
    """Fill `stores_m` and `columns` until they are full or a store has no block left ahead; return how many are filled.

    The store whose tokens are the smallest multiple of its share is next; of equals the first.
    """
    next_c = np.zeros(len(ends_c), dtype=np.int64)
    next_c[1:] = ends_c[:-1]
    while num_taken < len(stores_m):
        store = 0
        for other in range(1, len(shares_c)):
            if tokens_c[other] * shares_c[store] < tokens_c[store] * shares_c[other]:
                store = other
        if next_c[store] == ends_c[store]:
            break
        place = next_c[store]
        next_c[store] += 1
        stores_m[num_taken] = store
        columns[0, num_taken] = ahead[0, place]
        columns[1, num_taken] = ahead[1, place]
        tokens_c[store] += ahead[0, place]
        num_taken += 1
    return num_taken


def join_masked(parts: Sequence[Masked]) -> Masked:
    """Return the packs of `parts` end to end, with their spans and hidden tokens. Their formats are alike."""
    if len(parts) == 1:
        return parts[0]
    packs, texts = [part.pack for part in parts], [part.text for part in parts if part.text is not None]
    hidden, first_spans = [part.hidden for part in parts], _firsts([len(part.spans.start) for part in parts])
    return Masked(
        pack=_join_packs(packs),
        spans=_end_to_end([part.spans for part in parts], packs),
        hidden=Hidden(
            position=_column(hidden, "position", _firsts([len(pack.input_ids) for pack in packs])),
            span=_column(hidden, "span", first_spans),
            sequence=_column(hidden, "sequence", _firsts([len(pack.block_ids) for pack in packs])),
            original_ids=_column(hidden, "original_ids"),
        ),
        input_ids=_column(parts, "input_ids"),
        draws=_column_if_any(parts, "draws"),
        text=_join_packs(texts) if texts else None,
        chosen=_end_to_end([part.chosen for part in parts if part.chosen is not None], texts) if texts else None,
    )


def _join_packs(packs: Sequence[Pack]) -> Pack:
    first_tokens = _firsts([len(pack.input_ids) for pack in packs])
    questions = [pack.questions for pack in packs if pack.questions is not None]
    return Pack(
        input_ids=_column(packs, "input_ids"),
        token_type_ids=_column(packs, "token_type_ids"),
        borders=np.concatenate([[0], *(p.borders[1:] + first for p, first in zip(packs, first_tokens, strict=True))]),
        maskable=_column(packs, "maskable"),
        starts_word=_column(packs, "starts_word"),
        block_ids=_column(packs, "block_ids"),
        pair_labels=_column_if_any(packs, "pair_labels"),
        side={name: np.concatenate([pack.side[name] for pack in packs]) for name in packs[0].side},
        positions=_column_if_any(packs, "positions"),
        questions=_end_to_end(questions, packs) if questions else None,
    )


def _end_to_end(spans: Sequence[Spans], packs: Sequence[Pack]) -> Spans:
    """Return the spans of packs that lie end to end."""
    first_tokens = _firsts([len(pack.input_ids) for pack in packs])
    first_sequences = _firsts([len(pack.block_ids) for pack in packs])
    counts = [len(pack.block_ids) for pack in packs]
    return join_spans(
        [
            move(one, np.arange(count) + sequence, np.full(count, token))
            for one, count, sequence, token in zip(spans, counts, first_sequences, first_tokens, strict=True)
        ]
    )


def _firsts(counts: list[int]) -> list[int]:
    return np.concatenate([[0], np.cumsum(counts[:-1])]).astype(np.int64).tolist()


def _column(parts: Sequence[object], name: str, firsts: Sequence[int] | None = None) -> np.ndarray:
    """One column of all parts; places are counted from the begin of the joined pack where `firsts` say how."""
    columns = [getattr(part, name) for part in parts]
    if firsts is not None:
        columns = [column + first for column, first in zip(columns, firsts, strict=True)]
    return np.concatenate(columns)


def _column_if_any(parts: Sequence[object], name: str) -> np.ndarray | None:
    """One column of all parts that have it; None where none has."""
    columns = [column for part in parts if (column := getattr(part, name)) is not None]
    return np.concatenate(columns) if columns else None
