"""Phrases of a sentence (named entities, noun phrases) as one byte a token.

Two numbers are enough to keep phrases apart that touch: one where a phrase begins, another where it goes on.
Letters: n tokens of one text, k phrases.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from spanwise.errors import DataError

OUTSIDE, BEGINS, GOES_ON = 0, 1, 2


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
    """Offsets without the blanks that some tokenizers keep at a token's front or end."""
    starts, ends = [], []
    for start, end in np.asarray(offsets).tolist():
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        starts.append(start)
        ends.append(end)
    return np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)
