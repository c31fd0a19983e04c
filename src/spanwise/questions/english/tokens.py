"""Tokens of an English sentence with their places, and what their shape tells."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from spanwise.questions.english import words
from spanwise.questions.english.verbs import PARTICIPLES, base_of

_TOKEN = re.compile(
    r"(?:[A-Z]\.){2,}|[A-Z]\.(?=\s[A-Z])|\d+(?:[.,]\d+)*(?:st|nd|rd|th|s)?\b|['’]s\b"
    r"|[^\W\d_]+(?:-[^\W\d_]+|['’](?!s\b)[^\W\d_]+)*|\S"
)
_CLOSED = (
    words.DETERMINERS
    | words.AUXILIARIES
    | words.PRONOUNS
    | words.POSSESSIVES
    | words.PREPOSITIONS
    | words.SUBORDINATORS
    | words.CONJUNCTIONS
    | words.ADVERBS
    | words.QUANTIFIERS
    | {"be", "been", "being", "'s", "’s", "there", "here", "if", "no"}
)


@dataclass(frozen=True, slots=True)
class Token:
    """Characters `start` to `end` of a sentence."""

    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        return self.text.lower()

    @property
    def is_open(self) -> bool:
        """A lower-case word of an open class: noun, verb or adjective."""
        return self.text[0].islower() and self.text not in _CLOSED

    @property
    def is_noun_like(self) -> bool:
        """An open word that is no form of a verb and no adverb."""
        return self.is_open and not (
            self.text.endswith(("ly", "ing")) or self.text in PARTICIPLES or base_of(self.text) is not None
        )

    @property
    def is_finite(self) -> bool:
        """An auxiliary, or a verb that looks finite."""
        return self.text in words.AUXILIARIES or base_of(self.text) is not None


@functools.lru_cache(maxsize=1024)  # a sentence is asked for each of its spans
def tokens_of(text: str) -> tuple[Token, ...]:
    """Return the tokens of a sentence, in order."""
    return tuple(Token(found[0], found.start(), found.end()) for found in _TOKEN.finditer(text))


def is_closed(word: str) -> bool:
    """Return whether a lower-case word has a grammatical task rather than a meaning."""
    return word in _CLOSED


def written(tokens: Sequence[Token]) -> str:
    """Return tokens of a sentence as text: blanks stand where the sentence has them, one where tokens were left out."""
    parts: list[str] = []
    for place, token in enumerate(tokens):
        if place:
            before = tokens[place - 1]
            parts.append("" if before.end == token.start or token.text in ",.;:!?)" else " ")
        parts.append(token.text)
    return "".join(parts)
