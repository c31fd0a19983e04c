"""HWPX files, which Hancom's word processor writes: the paragraphs of all sections, tables included, with their pages.

Source: KS X 6101 (OWPML): `hp:p`, `hp:t`, `hp:lineseg`. A file keeps where each line stood when it was last laid out; a
line that stands higher than the one before begins a new page. With several columns that says nothing, so such a section
and those behind it have no pages.
Differs: headers, footers and notes are left out.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from spanwise.asking.documents import TextLine
from spanwise.asking.documents.zipped_xml import Element, attribute, local_name, open_archive, read_part
from spanwise.errors import DataError

SECTION = re.compile(r"Contents/section(\d+)\.xml")
APART = {"header", "footer", "footNote", "endNote", "hiddenComment", "memo"}


def hwpx_lines(path: Path) -> Iterator[TextLine]:
    """Yield the paragraphs of a document in order, an empty line behind each.

    Raises: DataError for a file that is damaged, or no HWPX (the older .hwp is another format).
    """
    with open_archive(path, "HWPX") as archive:
        names = sorted((int(found[1]), name) for name in archive.namelist() if (found := SECTION.fullmatch(name)))
        if not names:
            raise DataError(f"{path} has no Contents/section0.xml, so it is no HWPX file. Save it again as .hwpx.")
        number, page = 0, 1
        for _, name in names:
            section = read_part(archive, name, path)
            page = 0 if not page or _has_columns(section) else page
            lowest = -1
            for paragraph in (child for child in section if local_name(child) == "p"):
                page, lowest, first = _turned(paragraph, page, lowest)
                for text in _texts(paragraph):
                    number += 1
                    yield TextLine(text, number, first)
                    yield TextLine("", number, page)
            page += page > 0  # a section begins on a page of its own


def _has_columns(section: Element) -> bool:
    return any(attribute(one, "colCount") not in ("", "0", "1") for one in section.iter() if local_name(one) == "colPr")


def _turned(paragraph: Element, page: int, lowest: int) -> tuple[int, int, int]:
    """Return the page and the place of the last line of a paragraph of the text itself, and the page of its first."""
    first = page
    lines = [one for child in paragraph if local_name(child) == "linesegarray" for one in child]
    for number, line in enumerate(lines):
        place = attribute(line, "vertpos")
        if not place.lstrip("-").isdigit():
            continue
        page += page > 0 and int(place) < lowest
        lowest = int(place)
        first = page if number == 0 else first
    return page, lowest, first


def _texts(paragraph: Element) -> Iterator[str]:
    """Yield the text of a paragraph, then of those inside it: cells of tables, text boxes."""
    pieces: list[str] = []
    inner: list[Element] = []
    _collect(paragraph, pieces, inner)
    yield "".join(pieces)
    for one in inner:
        yield from _texts(one)


def _collect(element: Element, pieces: list[str], inner: list[Element]) -> None:
    for child in element:
        name = local_name(child)
        if name == "p":
            inner.append(child)
        elif name == "t":
            pieces.append(_text_of(child))
        elif name not in APART:
            _collect(child, pieces, inner)


def _text_of(element: Element) -> str:
    """Return the characters of one `hp:t`; what stands inside it are tabs, line breaks and marks."""
    blank = {"tab": " ", "lineBreak": " ", "nbSpace": " ", "fwSpace": " ", "hyphen": "-"}
    pieces = [element.text or ""]
    for child in element:
        pieces += [blank.get(local_name(child), ""), child.tail or ""]
    return "".join(pieces)
