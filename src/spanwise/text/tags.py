"""Taggers read sentences and give one small number per token, which a store keeps beside the ids.

They work while a corpus is prepared, never while a model trains: a recipe that needs their answers needs the store's
side array, not the tagger's library. A phrase (a named entity, a noun phrase) has two numbers, one where it begins and
another where it goes on, so that phrases that touch stay apart.

Letters: k texts, n tokens of one text, b borders.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

import numpy as np

from spanwise.errors import DataError
from spanwise.text.encoding import Encoding

OUTSIDE, BEGINS, GOES_ON = 0, 1, 2  # of a phrase


class Tagger(Protocol):
    """Fills one side array of a store."""

    @property
    def name(self) -> str:
        """The name of the side array: small letters, digits and dashes, as `prepare --tag` takes it."""
        ...

    @property
    def source(self) -> str:
        """A line for the store that says what computes the tags, with its version."""
        ...

    def tag(self, texts: Sequence[str], encodings: Sequence[Encoding]) -> list[np.ndarray]:
        """Return the tags of k sentences, a uint8 array [n] each: one value per token of its encoding."""
        ...


def begins_at(text: str, offsets: np.ndarray, borders: Collection[int]) -> np.ndarray:
    """Return 1 for each token that begins at one of the character positions `borders` [b] of `text`, uint8 [n].

    `offsets` [n, 2] as in `Encoding`. Blanks at a token's front, which some tokenizers keep, are not its beginning.
    """
    wanted = set(borders)
    return np.array([start in wanted for start in _trimmed(text, offsets)[0].tolist()], dtype=np.uint8)


def phrase_tags(text: str, offsets: np.ndarray, phrases: Iterable[tuple[int, int]]) -> np.ndarray:
    """Return the tags of the n tokens of `text`, uint8 [n].

    `offsets` [n, 2] as in `Encoding`; `phrases` are half-open character ranges in any order. A token belongs to a
    phrase that holds some of its characters, blanks aside. Of two phrases that overlap the one that begins first
    counts, of two that begin together the longer.
    Raises: DataError for a range outside the text, or an empty one.
    """
    tags_n = np.zeros(len(offsets), dtype=np.uint8)
    starts_n, ends_n = _trimmed(text, offsets)
    reached = 0
    for start, end in sorted(phrases, key=lambda phrase: (phrase[0], -phrase[1])):
        if not 0 <= start < end <= len(text):
            raise DataError(
                f"the phrase [{start}, {end}) does not lie in {text[:60]!r}, a text of {len(text)} characters; "
                "write half-open ranges of characters."
            )
        inside = np.flatnonzero((starts_n < end) & (ends_n > start) & (starts_n < ends_n))
        if start < reached or not len(inside) or tags_n[inside].any():
            continue
        tags_n[inside] = GOES_ON
        tags_n[inside[0]] = BEGINS
        reached = end
    return tags_n


def _trimmed(text: str, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where tokens start and end [n] without the blanks that some tokenizers keep there."""
    pieces = [(start, end, text[start:end]) for start, end in np.asarray(offsets).astype(int).tolist()]
    starts = [min(end, start + len(piece) - len(piece.lstrip())) for start, end, piece in pieces]
    ends = [max(start, end - len(piece) + len(piece.rstrip())) for start, end, piece in pieces]
    return np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)
