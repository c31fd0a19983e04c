"""DOCX files: the paragraphs of the body, tables included, with the pages that Word last laid out.

Source: ECMA-376 (Office Open XML), part 1, section 17: `w:p`, `w:t`, `w:tab`, `w:br`, `w:lastRenderedPageBreak`.
Differs: headers, footers, notes and comments are left out, and so is text that tracked changes deleted (`w:delText`).
"""

from collections.abc import Iterator
from pathlib import Path

from spanwise.asking.documents import TextLine
from spanwise.asking.documents.zipped_xml import Element, attribute, local_name, open_archive, read_part
from spanwise.errors import DataError

BODY = "word/document.xml"


def docx_lines(path: Path) -> Iterator[TextLine]:
    """Yield the paragraphs of a document, in order; pages are counted where the file says where they break.

    Raises: DataError for a file that is damaged, or no DOCX.
    """
    with open_archive(path, "DOCX") as archive:
        try:
            root = read_part(archive, BODY, path)
        except KeyError as cause:
            raise DataError(f"{path} has no {BODY}, so it is no DOCX file. Save it again as .docx.") from cause
    paragraphs = [element for element in root.iter() if local_name(element) == "p"]
    has_pages = any(_breaks_page(element) for element in root.iter())
    page = 1
    for number, paragraph in enumerate(paragraphs, start=1):
        text, first, page = _read_paragraph(paragraph, page)
        yield TextLine(text, number, first if has_pages else 0)


def _read_paragraph(paragraph: Element, page: int) -> tuple[str, int, int]:
    """Return the text of a paragraph, the page on which it begins, and the one on which it ends."""
    pieces: list[str] = []
    first = page
    for element in _inside(paragraph):
        name = local_name(element)
        if _breaks_page(element):
            page += 1
            first = first if "".join(pieces).strip() else page
        elif name == "t":
            pieces.append(element.text or "")
        elif name in ("tab", "br", "cr"):
            pieces.append(" ")
        elif name == "noBreakHyphen":
            pieces.append("-")
    return "".join(pieces), first, page


def _inside(paragraph: Element) -> Iterator[Element]:
    """Yield what a paragraph holds, without the paragraphs of text boxes in it, which come as their own, and without
    the second form that a drawing has for old programs."""
    for element in paragraph:
        if local_name(element) not in ("p", "Fallback"):
            yield element
            yield from _inside(element)


def _breaks_page(element: Element) -> bool:
    name = local_name(element)
    return name == "lastRenderedPageBreak" or (name == "br" and attribute(element, "type") == "page")
