"""Markdown: the text that a reader of the rendered page sees, line by line, with the line of the file.

Source: CommonMark 0.31, with the tables and struck-out text of GitHub.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from spanwise.asking.documents import TextLine
from spanwise.asking.documents.html import html_blocks
from spanwise.text.readers import OnInvalid, read_lines

SOURCE_BLOCKS = ("fence", "code_block")
BREAKS = ("softbreak", "hardbreak")
_LINE_BREAK = re.compile(r"<br\s*/?>", re.I)
FRONT_MATTER = "---"  # lines of settings before the text, between two of these


def markdown_lines(path: Path, errors: OnInvalid) -> Iterator[TextLine]:
    """Yield the lines of a file without its markup, and an empty one where a block ends. The file is held as a whole.

    Raises: DataError where the file can't be read.
    """
    pieces = groupby(read_lines(path, errors), lambda line: line.number)
    lines = ["".join(piece.text for piece in of_line).replace("\r", " ") for _, of_line in pieces]
    begin = _front_matter(lines)
    yield from (TextLine(line, number) for number, line in enumerate(lines[:begin], 1))
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    last = begin
    for text, line in _texts(parser.parse("\n".join(lines[begin:])), begin + 1):
        if not text and last == begin:
            continue  # nothing stands before the first block
        if line - 1 > last:  # an empty line, or one of marks alone, stands between the two: a block ends there
            yield TextLine("", line - 1)
        yield TextLine(text, line)
        last = line


def _front_matter(lines: list[str]) -> int:
    """Return how many lines of settings there are at the start."""
    if not lines or lines[0].rstrip() != FRONT_MATTER:
        return 0
    ends = (number for number, line in enumerate(lines[1:], 2) if line.rstrip() == FRONT_MATTER)
    return next(ends, 0)


def _texts(tokens: list[Token], first: int) -> Iterator[tuple[str, int]]:
    """Yield each line of text with its number; `first` is that of the parsed text's first line."""
    last = row = first
    cells: list[str] | None = None  # of the row of a table that is being read
    for token in tokens:
        line = first + (token.map[0] if token.map else 0)
        if token.type == "tr_open":
            cells, row = [], line
        elif token.type == "tr_close" and cells is not None:
            yield " ".join(cells), row
            cells = None
        elif token.type == "inline" and cells is not None:
            cells += [text for text, _ in _inline(token, line)]
        elif token.type == "heading_open":  # a block of its own, with or without an empty line around it
            yield "", line
        elif token.type == "inline":
            for text, last in _inline(token, line):
                yield text, last
        elif token.type == "heading_close":
            yield "", last
        elif token.type in SOURCE_BLOCKS:
            begin = line + (token.type == "fence")  # behind the line that opens it
            source = token.content.removesuffix("\n").split("\n")
            yield from ((text, begin + number) for number, text in enumerate(source))
        elif token.type == "html_block":
            yield from ((block.text, line + block.number - 1) for block in html_blocks(token.content))


def _inline(token: Token, line: int) -> Iterator[tuple[str, int]]:
    """Yield the lines of a block. Code that goes over a line end is one line, so those behind it count one less."""
    text = ""
    for part in token.children or []:
        if part.type in BREAKS:
            yield text.strip(), line
            text, line = "", line + 1
        elif part.type == "image":
            text += "".join(child.content for child in part.children or [])
        elif part.type != "html_inline":
            text += part.content
        elif _LINE_BREAK.fullmatch(part.content):
            text += " "
    yield text.strip(), line
