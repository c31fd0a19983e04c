"""HTML pages: the text that a browser shows, line by line, with the line of the file where each of them begins.

The parser is Python's own, which takes broken pages as browsers do and fetches nothing.
"""

import html.parser
from collections.abc import Iterator
from pathlib import Path

from spanwise.asking.documents import TextLine
from spanwise.asking.documents.page_encoding import page_lines
from spanwise.text.readers import OnInvalid

INLINE = set(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "ins",
        "kbd",
        "label",
        "mark",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
    ]
)
INLINE |= set(
    ["small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"]
)  # "br" ends a line, all other tags begin a new block
CELLS = {"td", "th"}  # parted by a blank
HIDDEN = {"script", "style", "noscript", "template", "head", "svg", "math", "iframe", "object", "select", "textarea"}
IN_HEAD = {"title", "meta", "link", "base", "script", "style", "noscript", "template"}  # any other tag ends it


def html_lines(path: Path, errors: OnInvalid) -> Iterator[TextLine]:
    """Yield the lines of text of a page, and an empty one behind each block.

    Raises: DataError where the file can't be read, or is not in its encoding.
    """
    parser = _Blocks()
    for line in page_lines(path, errors):
        parser.feed(line.text + ("\n" if line.ends else ""))
        yield from parser.taken()
    parser.close()
    parser.end_block()
    yield from parser.taken()


def html_blocks(text: str) -> list[TextLine]:
    """Return the lines of a piece of a page as `html_lines` does, counted from its first."""
    parser = _Blocks()
    parser.feed(text)
    parser.close()
    parser.end_block()
    return parser.taken()


class _Blocks(html.parser.HTMLParser):
    """Collects text until a tag that begins or ends a block, or a line of it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[TextLine] = []
        self._is_in_block = False
        self._text: list[str] = []
        self._has_text = False  # `_text` holds more than white space
        self._first_line = 0
        self._num_pre = 0  # <pre> that are open: there, the end of a line of the file ends a line
        self._hidden: list[str] = []

    def taken(self) -> list[TextLine]:
        """Return the lines that are complete, once."""
        lines, self._lines = self._lines, []
        return lines

    def end_block(self) -> None:
        self._end_line()
        if self._is_in_block:
            self._lines.append(TextLine("", self._first_line))
        self._is_in_block = False

    def _end_line(self) -> None:
        text = " ".join("".join(self._text).split())
        if text:
            self._lines.append(TextLine(text, self._first_line))
            self._is_in_block = True
        self._text, self._has_text = [], False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden:
            if tag == self._hidden[-1]:
                self._hidden.append(tag)
            elif tag == "body" or (self._hidden == ["head"] and tag not in IN_HEAD):  # a head that was never closed
                self._hidden.clear()
        elif tag in HIDDEN:
            self.end_block()
            self._hidden.append(tag)
        if tag == "pre" and not self._hidden:
            self._num_pre += 1
        self._part(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._part(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._hidden and tag == self._hidden[-1]:
            self._hidden.pop()
        elif tag == "pre" and not self._hidden:
            self._num_pre = max(0, self._num_pre - 1)
        self._part(tag)

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        line = self.getpos()[0]
        if not self._num_pre:
            self._add(data, line)
            return
        for number, part in enumerate(data.split("\n")):
            if number:
                self._end_line()
            self._add(part, line + number)

    def _add(self, data: str, line: int) -> None:
        """Add text that begins in a line of the file."""
        if not self._has_text and data.strip():
            self._first_line = line + data[: len(data) - len(data.lstrip())].count("\n")
            self._has_text = True
        self._text.append(data)

    def _part(self, tag: str) -> None:
        if tag in CELLS:
            self._text.append(" ")
        elif tag == "br":
            self._end_line()
        elif tag not in INLINE:
            self.end_block()
