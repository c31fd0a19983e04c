"""What a tagger is: it reads sentences and says one small number of each token, which a store keeps beside the ids.

Taggers work while a corpus is prepared, never while a model trains: a recipe that needs their answers needs the store's
side array, not the tagger's library. Letters: k texts, n tokens of one text, b borders.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from spanwise.text.tokenizers import Encoding


class Tagger(Protocol):
    """Fills one side array of a store."""

    @property
    def name(self) -> str:
        """Of the side array: small letters, digits and dashes, as `prepare --tag` takes it."""
        ...

    @property
    def source(self) -> str:
        """What computes the tags, with its version; kept in the store."""
        ...

    def tag(self, texts: Sequence[str], encodings: Sequence[Encoding]) -> list[np.ndarray]:
        """The tags of k sentences, a uint8 array [n] each: one value a token of its encoding."""
        ...


def begins_at(text: str, offsets: np.ndarray, borders: Collection[int]) -> np.ndarray:
    """Whether each token begins at one of the character positions `borders` [b] of `text`, uint8 [n].

    `offsets` [n, 2] as in `Encoding`. Blanks at a token's front, which some tokenizers keep, are not its beginning.
    """
    wanted = set(borders)
    return np.array([_first_character(text, *pair) in wanted for pair in offsets.tolist()], dtype=np.uint8)


def _first_character(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start
