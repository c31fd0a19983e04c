"""Sentences with a tag at each unit, and the same sentences at other units.

A unit is what a tag stands at: a word, or in files tagged by character a character. A model reads one of the two, so
what a file holds at the other is brought to it.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from spanwise.errors import DataError
from spanwise.tasks.tagging.spans import Span, spans_of, tags_of
from spanwise.text.composition import JOINERS

Level = Literal["words", "characters"]
Kind = Literal["entities", "classes"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text, where its units stand in it (half-open), and a tag per unit; no tags where read for prediction."""

    text: str
    units: tuple[tuple[int, int], ...]
    tags: tuple[str, ...]
    where: str

    def spans(self) -> list[Span]:
        """The gold spans as characters of the text."""
        return [
            Span(self.units[span.first][0], self.units[span.last - 1][1], span.label) for span in spans_of(self.tags)
        ]


@dataclass(frozen=True, kw_only=True)
class TaggedData:
    """The sentences of a file in its order, or of several one behind the other."""

    source: str
    sentences: tuple[Sentence, ...]
    level: Level
    kind: Kind
    num_dropped: int = 0  # sentences left out under errors="repair"

    def __len__(self) -> int:
        return len(self.sentences)


def at_level(sentence: Sentence, level: Level) -> Sentence:
    """Return a sentence of entities with the units of another level.

    Raises: DataError where an entity begins or ends inside a word.
    """
    if level == "characters":
        units = [(place, place + 1) for place in range(len(sentence.text))]
        spans = sentence.spans()
    else:
        units = split_words(sentence.text)
        spans = [_at_words(span, units, sentence) for span in sentence.spans()]
    tags = tuple(tags_of(spans, len(units))) if sentence.tags else ()
    return Sentence(sentence.text, tuple(units), tags, sentence.where)


def _at_words(span: Span, words: Sequence[tuple[int, int]], sentence: Sentence) -> Span:
    touched = [place for place, (start, end) in enumerate(words) if start < span.last and end > span.first]
    start, end = (words[touched[0]][0], words[touched[-1]][1]) if touched else (0, 0)
    if (start, end) != (span.first, span.last):
        raise DataError(
            f"{sentence.where}: the span {span.first}:{span.last} ({sentence.text[span.first : span.last]!r}) begins "
            f"or ends inside a word ({sentence.text[start:end]!r}), and words are tagged here. Give whole words, or "
            "teach a model with task.level=characters."
        )
    return Span(touched[0], touched[-1] + 1, span.label)


def split_words(text: str) -> list[tuple[int, int]]:
    """Return words as half-open characters: runs of letters, digits and their marks, and each other sign by itself."""
    found: list[tuple[int, int]] = []
    in_word = False
    for place, sign in enumerate(text):
        kind = unicodedata.category(sign)[0]
        touches = bool(found) and found[-1][1] == place
        stands_on = kind == "M" or sign in JOINERS or text[place - 1 : place] == JOINERS[0]
        is_letter = kind in "LN" or sign == "_"
        if touches and (stands_on or (is_letter and in_word)):
            found[-1] = (found[-1][0], place + 1)
        elif not sign.isspace() and (kind != "C" or is_letter):
            found.append((place, place + 1))
            in_word = is_letter or stands_on
    return found
