"""Unicode NFC with a map back: which characters of the text as given each composed character was made of.

The `tokenizers` library composes too, but its offsets then end behind the first part of the last character: of 한
written as three jamo it gives one. Korean is the language that most needs it, so whether text is Korean is told here
too: macOS writes Hangul in parts (NFD), and a vocabulary of whole syllables knows none of them.

Letters: n characters of composed text.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

import numpy as np

JOINERS = "\u200d\ufe0f"  # signs that bind an emoji together
LOOKED_AT = 200_000  # characters
KOREAN_SHARE = 0.3  # of all letters: Korean with many Latin names and terms has more, English about Korea less
_HANGUL = re.compile("[\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb]")
_LETTER = re.compile(r"[^\W\d_]")


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


def is_korean(sentences: Iterable[str]) -> bool:
    """Return whether Hangul, whole or in parts, is a good share of the letters at the beginning of a text."""
    num_letters = num_hangul = 0
    for sentence in beginning_of(sentences):
        num_letters += len(_LETTER.findall(sentence))
        num_hangul += len(_HANGUL.findall(sentence))
    return num_hangul > 0 and num_hangul >= KOREAN_SHARE * num_letters


def beginning_of(sentences: Iterable[str]) -> Iterator[str]:
    """The sentences of the first `LOOKED_AT` characters."""
    left = LOOKED_AT
    for sentence in sentences:
        yield sentence
        left -= len(sentence)
        if left <= 0:
            return
