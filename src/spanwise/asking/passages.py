"""Passages: the pieces of a document that are found and read as one, and where each of their lines stands.

A paragraph is a passage. Short lines (headings, lists, wrapped lines) are joined until they say enough to be found,
long paragraphs are cut where a sentence ends.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from spanwise.asking.documents import TextLine
from spanwise.text.sentences import sentence_ranges

ENOUGH = 300  # characters, from which a passage ends with its paragraph
MOST = 1_200  # some 300 tokens: with the question it fits into one window
LONG_LINE = 200  # a line of so many characters is a whole paragraph, not a part of one that was wrapped
SHORT_LINE = 40  # a shorter one ends what was wrapped, or is a heading
_SENTENCE_END = re.compile(r"[.!?。！？…][\"')\]”’」』]*\s+|\n")
_ENDS = (".", "!", "?", "。", "！", "？", "…", ":", '."', '?"', '!"', ".”", "?”", "!”", ".)", ".’")


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines of one document, joined by line ends. `marks` say where each begins: (character, line number, page)."""

    text: str
    marks: tuple[tuple[int, int, int], ...]

    def place(self, character: int) -> tuple[int, int]:
        """Return the line number and the page (0: none) of a character."""
        number, page = 0, 0
        for first, line, at in self.marks:
            if first > character:
                break
            number, page = line, at
        return number, page


def cut_passages(lines: Iterable[TextLine]) -> Iterator[Passage]:
    """Yield the passages of one document, none without a letter or digit."""
    kept: list[TextLine] = []
    size = 0
    for line in lines:
        text = line.text.rstrip()
        if kept and (line.is_alone or size + len(text) > MOST):
            yield from _joined(kept)
            kept, size = [], 0
        if text or kept:
            kept.append(TextLine(text, line.number, line.page))
            size += len(text) + 1
        if kept and (line.is_alone or (size >= ENOUGH and (not text or len(text) >= LONG_LINE))):
            yield from _joined(kept)
            kept, size = [], 0
    yield from _joined(kept)


def _joined(lines: list[TextLine]) -> Iterator[Passage]:
    """Yield the passage of some lines, or several where a line alone is too long."""
    while lines and not lines[-1].text:
        lines.pop()
    for first, last in _pieces(lines[0].text) if len(lines) == 1 else [(0, 0)]:
        pieces = [lines[0].text[first:last]] if last else [line.text for line in lines]
        marks, start = [], 0
        for line, piece in zip(lines, pieces, strict=True):
            marks.append((start, line.number, line.page))
            start += len(piece) + 1
        text = "\n".join(pieces)
        if any(character.isalnum() for character in text):
            yield Passage(text, tuple(marks))


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield half-open ranges that cover a line, each of at most `MOST` characters, cut at the end of a sentence, else
    at a blank, else anywhere."""
    start = 0
    while len(text) - start > MOST:
        window = text[start : start + MOST]
        ends = [found.end() for found in _SENTENCE_END.finditer(window, MOST // 3)]
        cut = ends[-1] if ends else window.rfind(" ", MOST // 3) + 1
        yield start, start + (cut or MOST)
        start += cut or MOST
    yield start, len(text)


def unwrapped(text: str) -> str:
    """Return a text of the same length in which a line end inside a wrapped paragraph is a blank."""
    lines = text.split("\n")
    pieces = [lines[0]]
    for before, after in itertools.pairwise(lines):
        goes_on = SHORT_LINE <= len(before) < LONG_LINE and not before.endswith(_ENDS) and after.strip()
        pieces += [" " if goes_on else "\n", after]
    return "".join(pieces)


def sentence_around(text: str, start: int, end: int, language: str) -> tuple[int, int]:
    """Return the half-open range of the sentence, or the sentences, that hold the characters start to end."""
    held = [one for one in sentence_ranges(unwrapped(text), language) if one[0] < end and start < one[1]]
    return (min(start, held[0][0]), max(end, held[-1][1])) if held else (start, end)
