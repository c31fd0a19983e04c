"""What the rules of every language read and give: passages, sentences, and spans that may be answers."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Kind = Literal["person", "place", "date", "number", "name", "recurring"]
Form = Literal["wh", "cloze"]
KINDS: tuple[Kind, ...] = ("person", "place", "date", "number", "name", "recurring")
FORMS: tuple[Form, ...] = ("wh", "cloze")
BLANK = "___"
"""What a cloze shows where the answer stood."""


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of a sentence that may be an answer; equal `unit`s say what a number counts."""

    start: int
    end: int
    text: str
    kind: Kind
    unit: str = ""


def overlaps(spans: Iterable[Span], start: int, end: int) -> bool:
    """Return whether one of the spans has a character from `start` to `end`."""
    return any(span.start < end and start < span.end for span in spans)


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text: so the lists of a language are written."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, which is characters `start` to `end` of passage number `passage` of its document."""

    passage: int
    start: int
    end: int
    text: str
    spans: tuple[Span, ...]
    content: frozenset[str]  # its words that carry meaning, each in one form


class Rules(Protocol):
    """The rules of one language."""

    def read(self, passages: Sequence[str]) -> list[Sentence]:
        """Find the sentences of a document's passages, in order, and the spans in them."""
        ...

    def ask(self, sentence: Sentence, span: Span, form: Form) -> str | None:
        """Return a question of the sentence to which the span is the answer; None where no rule fits."""
        ...

    def rephrased(self, sentence: Sentence, span: Span, draw: random.Random) -> str | None:
        """Return a question in another order of words, for the passage that holds the sentence itself."""
        ...

    def content(self, text: str) -> frozenset[str]:
        """Return the words that carry meaning, each in one form, of a passage or sentence that was read last."""
        ...

    def asked(self, sentence: Sentence, question: str) -> frozenset[str]:
        """Return those of a sentence's words that a question made of it has."""
        ...

    def holds(self, text: str, answer: str) -> bool:
        """Return whether an answer stands in a text, as far as a reader can tell, whatever its case."""
        ...
