"""Sentences as the units that formats put together; one that no sequence can hold is cut.

Letters: n blocks, u units (sentences, or pieces of an over-long one), d documents.
"""

from dataclasses import dataclass

import numpy as np

from spanwise.data.token_store import TokenStore
from spanwise.errors import DataError
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below, uniform

CUT_TOKENS = 1 << 22  # of over-long sentences, read at once


@dataclass(frozen=True, kw_only=True)
class Units:
    """All text of a store in stored order. No unit is empty or longer than was asked for, no document is empty."""

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
    if not lengths_u.all():  # stores of other tools may hold empty sentences
        ends_u = np.concatenate([[0], np.cumsum(lengths_u > 0)])
        lengths_u, document_ends = lengths_u[lengths_u > 0], np.unique(ends_u[document_ends])
        document_ends = document_ends[document_ends > 0]
    return Units(lengths=lengths_u, document_ends=document_ends)


def whole_sentences(units: Units, room: int) -> np.ndarray:
    """Return the lengths [n] of blocks: units of one document, one after another, until the next would pass `room`."""
    return _block_lengths(units.lengths, units.document_ends, room)


def require_sentences(store: TokenStore, format_name: str) -> None:
    """Raises: DataError for a store of which every document is one sentence."""
    if not store.has_sentence_borders:
        raise DataError(
            f"format {format_name} puts sentences together, and every document of {store.path} is a single one. "
            "Prepare the text with sentence borders (`spanwise prepare` splits paragraphs), or take SingleSegment."
        )


def starts_of(lengths: np.ndarray) -> np.ndarray:
    """Return where things that lie end to end begin, int64 like lengths."""
    starts = np.zeros(len(lengths), dtype=np.int64)
    np.cumsum(lengths[:-1], out=starts[1:])
    return starts


@njit
def run_of_units(lengths_u, first, last, room):
    """Return (end, tokens) of the longest run of units from `first` on that keeps to `room`; one unit at least."""
    end, size = first + 1, lengths_u[first]
    while end < last and size + lengths_u[end] <= room:
        size += lengths_u[end]
        end += 1
    return end, size


@njit
def shorter_target(room, share, key, counter):
    """Return `room`, or with chance `share` a number of tokens from 2 to `room`: now and then a short sequence."""
    if share > 0.0 and uniform(key, 2 * counter) < share:
        return 2 + below(key, 2 * counter + 1, room - 1)
    return room


@njit
def _block_lengths(lengths_u, document_ends, room):
    blocks = np.empty(len(lengths_u), dtype=np.int64)
    num_blocks, u = 0, 0
    for d in range(len(document_ends)):
        while u < document_ends[d]:
            u, size = run_of_units(lengths_u, u, document_ends[d], room)
            blocks[num_blocks] = size
            num_blocks += 1
    return blocks[:num_blocks].copy()


def _cut_long_sentences(store: TokenStore, lengths_u, document_ends, too_long, room: int):
    """Put the pieces of over-long sentences in their place; return the new lengths and document ends, in units."""
    vocabulary = store.vocabulary
    may_start_V = vocabulary.starts_word | vocabulary.is_special
    starts, lengths = np.asarray(store.sentence_offsets)[too_long], lengths_u[too_long]
    num_pieces_u = np.ones(len(lengths_u), dtype=np.int64)
    pieces = []
    borders = np.searchsorted(np.cumsum(lengths), np.arange(0, lengths.sum(), CUT_TOKENS), side="left")
    for first, last in zip(borders, [*borders[1:], len(too_long)], strict=True):
        ids = store.gather(starts[first:last], lengths[first:last])
        cut, num_pieces_u[too_long[first:last]] = _piece_lengths(may_start_V[ids], lengths[first:last], room)
        pieces.append(cut)
    ends_u = np.concatenate([[0], np.cumsum(num_pieces_u)])
    in_place = np.repeat(lengths_u, num_pieces_u)
    in_place[np.repeat(num_pieces_u > 1, num_pieces_u)] = np.concatenate(pieces)
    return in_place, ends_u[document_ends]


@njit
def _piece_lengths(may_start, lengths_k, room):
    """Return the lengths of the pieces of k sentences that lie end to end, and how many each has, int64 [k]."""
    num_pieces_k = np.empty(len(lengths_k), dtype=np.int64)
    pieces = np.empty(len(may_start), dtype=np.int64)
    num_pieces, first = 0, 0
    for k in range(len(lengths_k)):
        before, last = num_pieces, first + lengths_k[k]
        while last - first > room:
            end = first + room
            while end > first and not may_start[end]:
                end -= 1
            if end == first:  # one word fills the whole block: cut it where the block ends
                end = first + room
            pieces[num_pieces] = end - first
            num_pieces += 1
            first = end
        pieces[num_pieces] = last - first
        num_pieces += 1
        num_pieces_k[k] = num_pieces - before
        first = last
    return pieces[:num_pieces].copy(), num_pieces_k
