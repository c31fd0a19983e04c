"""From the lines of a document to passages a question can be asked about: neither a heading nor a chapter."""

from __future__ import annotations

import re
from collections.abc import Iterable

from spanwise.text.sentences import split_sentences

LEAST, MOST = 240, 1200
"""Characters of a passage. SQuAD's paragraphs have 500 or more; a line of text may have 20, or ten thousand."""
_NOTES = re.compile(r"(\s*\[\d{1,3}\])+$")  # marks of footnotes behind the last sentence
_ENDS = tuple(".!?…。！？\"”'’»」』)")


def running_text(lines: Iterable[str]) -> list[str]:
    """Leave out lines that end like no sentence (headings, items of a list), and the marks of footnotes at an end.

    A line of more than `LEAST` characters is text, maybe cut by its reader, whatever it ends with.
    """
    cleaned = [_NOTES.sub("", " ".join(line.split())) for line in lines]
    return [line for line in cleaned if line.endswith(_ENDS) or len(line) > LEAST]


def passages(lines: Iterable[str], language: str) -> list[str]:
    """Join lines of running text up to `LEAST` characters, and cut what is longer than `MOST` between sentences.

    Of a line that ends like no sentence the end that is no whole sentence is left out.
    """
    found: list[str] = []
    held = ""
    for line in lines:
        for part in _cut(line, language):
            if held and len(held) + len(part) > MOST:
                found.append(held)
                held = ""
            held = f"{held} {part}" if held else part
            if len(held) >= LEAST:
                found.append(held)
                held = ""
    return [*found, held] if held else found


def _cut(line: str, language: str) -> list[str]:
    if len(line) <= MOST and line.endswith(_ENDS):
        return [line]
    sentences = split_sentences(line, language)
    if not sentences[-1].endswith(_ENDS):
        sentences.pop()
    parts = [""]
    for sentence in sentences:
        if parts[-1] and len(parts[-1]) + len(sentence) > MOST:
            parts.append("")
        parts[-1] = f"{parts[-1]} {sentence}".strip()
    return [part for part in parts if 0 < len(part) <= 2 * MOST]
