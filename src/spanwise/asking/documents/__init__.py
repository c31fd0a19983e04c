"""Documents as lines of text, each with its place: one file per format."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line or paragraph of a document, and where a person finds it there.

    `number` counts from 1: lines of a text or HTML file, rows of a table, lines of a PDF page, paragraphs of a DOCX or
    HWPX file. `page` is 0 where a format has no pages, or where they are not known.
    """

    text: str
    number: int
    page: int = 0
    is_alone: bool = False  # a document of its own, such as a row of a table: never joined with its neighbours
