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
    document_ends = np.ascontiguousarray(store.document_borders, dtype=np.int64)[1:]
    too_long = np.flatnonzero(store.sentence_lengths > room)
    if len(too_long):
        lengths_u, document_ends = _cut_long_sentences(store, document_ends, too_long, room)
    else:
        lengths_u = np.ascontiguousarray(store.sentence_lengths, dtype=np.int64)
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


def _cut_long_sentences(store: TokenStore, document_ends, too_long, room: int):
    """Put the pieces of over-long sentences in their place; return the new lengths and document ends, in units.

    A large store has billions of sentences and few that are over-long: there is one array of all, the result.
    """
    vocabulary = store.vocabulary
    may_start_V = vocabulary.starts_word | vocabulary.is_special
    lengths = store.sentence_lengths[too_long].astype(np.int64)
    starts = _starts_at(store.sentence_lengths, too_long)
    num_pieces = np.empty(len(too_long), dtype=np.int64)
    pieces = []
    borders = np.searchsorted(np.cumsum(lengths), np.arange(0, lengths.sum(), CUT_TOKENS), side="left")
    for first, last in zip(borders, [*borders[1:], len(too_long)], strict=True):
        ids = store.gather(starts[first:last], lengths[first:last])
        cut, num_pieces[first:last] = _piece_lengths(may_start_V[ids], lengths[first:last], room)
        pieces.append(cut)
    more = np.concatenate([[0], np.cumsum(num_pieces - 1)])  # units before each over-long sentence that it adds
    in_place = _in_place(store.sentence_lengths, too_long, num_pieces, np.concatenate(pieces))
    return in_place, document_ends + more[np.searchsorted(too_long, document_ends)]


@njit
def _starts_at(lengths_s, chosen):
    """Return where the sentences `chosen` [k], in rising order, begin in the store, int64 [k]."""
    starts = np.empty(len(chosen), dtype=np.int64)
    place, s = np.int64(0), 0
    for k in range(len(chosen)):
        while s < chosen[k]:
            place += lengths_s[s]
            s += 1
        starts[k] = place
    return starts


@njit
def _in_place(lengths_s, too_long, num_pieces, pieces):
    """Return all lengths with those of the k over-long sentences replaced by their pieces', int64 [u]."""
    lengths_u = np.empty(len(lengths_s) + len(pieces) - len(too_long), dtype=np.int64)
    u, s, piece = 0, 0, 0
    for k in range(len(too_long)):
        while s < too_long[k]:
            lengths_u[u] = lengths_s[s]
            u += 1
            s += 1
        for _ in range(num_pieces[k]):
            lengths_u[u] = pieces[piece]
            u += 1
            piece += 1
        s += 1
    while s < len(lengths_s):
        lengths_u[u] = lengths_s[s]
        u += 1
        s += 1
    return lengths_u


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
