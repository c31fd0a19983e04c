"""Sentences as the units that formats put together; one that no sequence can hold is cut.

Letters: n blocks, u units (sentences, or pieces of an over-long one), d documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spanwise.data.token_store import TokenStore
from spanwise.runtime.compiled import njit


@dataclass(frozen=True, kw_only=True)
class Units:
    """All text of a store in stored order. No unit is longer than was asked for."""

    lengths: np.ndarray  # [u] int64
    document_ends: np.ndarray  # [d] int64, in units

    @property
    def starts(self) -> np.ndarray:
        """Global token offsets, int64 [u]."""
        return starts_of(self.lengths)


def units_of(store: TokenStore, room: int) -> Units:
    """Return the sentences of a store; those longer than `room` are cut, before a word where that is possible."""
    lengths_u = np.ascontiguousarray(store.sentence_lengths, dtype=np.int64)
    document_ends = np.ascontiguousarray(store.document_borders, dtype=np.int64)[1:]
    too_long = np.flatnonzero(lengths_u > room)
    if len(too_long):
        lengths_u, document_ends = _cut_long_sentences(store, lengths_u, document_ends, too_long, room)
    return Units(lengths=lengths_u, document_ends=document_ends)


def whole_sentences(units: Units, room: int) -> np.ndarray:
    """Return the lengths [n] of blocks: units of one document, one after another, until the next would pass `room`."""
    return _block_lengths(units.lengths, units.document_ends, room)


def starts_of(lengths: np.ndarray) -> np.ndarray:
    """Return where things that lie end to end begin, int64 like lengths."""
    starts = np.zeros(len(lengths), dtype=np.int64)
    np.cumsum(lengths[:-1], out=starts[1:])
    return starts


@njit
def _block_lengths(lengths_u, document_ends, room):
    blocks = np.empty(len(lengths_u), dtype=np.int64)
    num_blocks, first = 0, 0
    for d in range(len(document_ends)):
        pending = np.int64(0)
        for u in range(first, document_ends[d]):
            if pending and pending + lengths_u[u] > room:
                blocks[num_blocks] = pending
                num_blocks += 1
                pending = np.int64(0)
            pending += lengths_u[u]
        if pending:
            blocks[num_blocks] = pending
            num_blocks += 1
        first = document_ends[d]
    return blocks[:num_blocks].copy()


def _cut_long_sentences(store: TokenStore, lengths_u, document_ends, too_long, room: int):
    """Put the pieces of over-long sentences in their place; return the new lengths and document ends, in units."""
    vocabulary = store.vocabulary
    pieces: list[np.ndarray] = []
    num_pieces_u = np.ones(len(lengths_u), dtype=np.int64)
    last = 0
    for u in too_long.tolist():
        ids = store.gather(np.asarray(store.sentence_offsets[u : u + 1]), lengths_u[u : u + 1])
        cut = _piece_lengths(vocabulary.starts_word[ids] | vocabulary.is_special[ids], room)
        pieces += [lengths_u[last:u], cut]
        num_pieces_u[u] = len(cut)
        last = u + 1
    pieces.append(lengths_u[last:])
    ends_u = np.concatenate([[0], np.cumsum(num_pieces_u)])
    return np.concatenate(pieces), ends_u[document_ends]


@njit
def _piece_lengths(starts_word, room):
    pieces = np.empty(len(starts_word), dtype=np.int64)
    num_pieces, first = 0, 0
    while len(starts_word) - first > room:
        end = first + room
        while end > first and not starts_word[end]:
            end -= 1
        if end == first:  # one word fills the whole block: cut it where the block ends
            end = first + room
        pieces[num_pieces] = end - first
        num_pieces += 1
        first = end
    pieces[num_pieces] = len(starts_word) - first
    return pieces[: num_pieces + 1].copy()
