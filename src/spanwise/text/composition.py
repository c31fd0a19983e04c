"""Unicode NFC with a map back: which characters of the text as given each composed character was made of.

The `tokenizers` library composes too, but its offsets then end behind the first part of the last character: of 한
written as three jamo it gives one. Letters: n characters of the composed text.
"""

from __future__ import annotations

import unicodedata

import numpy as np


def compose(text: str) -> tuple[str, np.ndarray]:
    """Return the text in NFC and places [n+1]: composed character i was made of `text[places[i]:places[i + 1]]`.

    Where marks stay marks, the characters that are left over belong to the last of them.
    """
    composed: list[str] = []
    places: list[int] = []
    start = 0
    for chunk in _chunks(text):
        normal = unicodedata.normalize("NFC", chunk)
        end = start + len(chunk)
        places += [start, *(max(start, place) for place in range(end - len(normal) + 1, end))]
        composed.append(normal)
        start = end
    return "".join(composed), np.array([*places, len(text)], dtype=np.int32)


def _chunks(text: str) -> list[str]:
    """Stretches that compose by themselves: a character and all that joins it or is put in order with it."""
    chunks: list[str] = []
    for character in text:
        if chunks and not _stands_alone(chunks[-1], character):
            chunks[-1] += character
        else:
            chunks.append(character)
    return chunks


def _stands_alone(before: str, character: str) -> bool:
    if character.isascii():
        return True
    if unicodedata.combining(character):
        return False
    parts = unicodedata.normalize("NFC", before) + unicodedata.normalize("NFC", character)
    return unicodedata.normalize("NFC", before + character) == parts
