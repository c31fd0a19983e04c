"""DOCX files: the paragraphs of the body, tables included, with the pages that Word last laid out.

Source: ECMA-376 (Office Open XML), part 1, section 17: `w:p`, `w:t`, `w:tab`, `w:br`, `w:lastRenderedPageBreak`.
Differs: headers, footers, notes and comments are left out, and so are text that tracked changes deleted (`w:delText`)
or moved away (`w:moveFrom`) and the second form that a drawing has for old programs (`mc:Fallback`).
"""

from collections.abc import Iterator
from pathlib import Path

from spanwise.asking.documents import TextLine
from spanwise.asking.documents.zipped_xml import Element, attribute, local_name, open_archive, read_part
from spanwise.errors import DataError

BODY = "word/document.xml"
LEFT_OUT = ("Fallback", "moveFrom")


def docx_lines(path: Path) -> Iterator[TextLine]:
    """Yield the paragraphs of a document in order, an empty line behind each; pages are counted where the file says
    where they break.

    Raises: DataError for a file that is damaged, or no DOCX.
    """
    with open_archive(path, "DOCX") as archive:
        try:
            root = read_part(archive, BODY, path)
        except KeyError as cause:
            raise DataError(f"{path} has no {BODY}, so it is no DOCX file. Save it again as .docx.") from cause
    shown = list(_below(root))
    paragraphs = [element for element in shown if local_name(element) == "p"]
    has_pages = any(_breaks_page(element) for element in shown)
    pages = _Pages()
    for number, paragraph in enumerate(paragraphs, start=1):
        text, first = _read_paragraph(paragraph, pages)
        yield TextLine(text, number, first if has_pages else 0)
        yield TextLine("", number, pages.page if has_pages else 0)


class _Pages:
    """Counts pages. Word marks the text behind a break that the author made as the beginning of a page once more; that
    mark is the same page."""

    def __init__(self) -> None:
        self.page = 1
        self._is_marked_again = False  # the next mark of a laid-out page stands for the break that was just counted

    def turn(self, element: Element) -> None:
        """Count an element that breaks the page."""
        is_mark = local_name(element) == "lastRenderedPageBreak"
        if not (is_mark and self._is_marked_again):
            self.page += 1
        self._is_marked_again = not is_mark

    def wrote(self, text: str) -> None:
        """Note text on the page: a mark behind it begins another page."""
        if text.strip():
            self._is_marked_again = False


def _read_paragraph(paragraph: Element, pages: _Pages) -> tuple[str, int]:
    """Return the text of a paragraph and the page on which it begins."""
    pieces: list[str] = []
    first = pages.page
    for element in _below(paragraph, but="p"):  # paragraphs of text boxes in it come as their own
        name = local_name(element)
        if _breaks_page(element):
            pages.turn(element)
            first = first if "".join(pieces).strip() else pages.page
        elif name == "t":
            pieces.append(element.text or "")
            pages.wrote(pieces[-1])
        elif name in ("tab", "br", "cr"):
            pieces.append(" ")
        elif name == "noBreakHyphen":
            pieces.append("-")
    return "".join(pieces), first


def _below(element: Element, but: str = "") -> Iterator[Element]:
    """Yield all elements below one in order, without what is left out and what is called `but`."""
    for child in element:
        if local_name(child) not in (*LEFT_OUT, but):
            yield child
            yield from _below(child, but)


def _breaks_page(element: Element) -> bool:
    name = local_name(element)
    return name == "lastRenderedPageBreak" or (name == "br" and attribute(element, "type") == "page")
