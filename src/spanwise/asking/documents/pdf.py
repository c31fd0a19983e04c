"""PDF files, page by page, through the library pypdf (the extra `documents`)."""

import logging
from collections.abc import Iterator
from pathlib import Path

from spanwise.asking.documents import TextLine
from spanwise.errors import ConfigError, DataError


def pdf_lines(path: Path) -> Iterator[TextLine]:
    """Yield the lines of each page; a scanned page, which is a picture, has none.

    Raises: ConfigError where pypdf is not installed; DataError for a file that is damaged or locked by a password.
    """
    try:
        import pypdf
    except ImportError as cause:
        raise ConfigError(
            f"{path}: PDF files need pypdf. Install it with: pip install 'spanwise[documents]'"
        ) from cause
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of every flaw that it repairs
    try:
        with pypdf.PdfReader(path) as reader:
            if reader.is_encrypted and not reader.decrypt(""):
                raise DataError(f"{path} is locked by a password. Save a copy without one.")
            for page, content in enumerate(reader.pages, start=1):
                for number, text in enumerate(content.extract_text().splitlines(), start=1):
                    yield TextLine(_sound(text), number, page)
    except (DataError, MemoryError):
        raise
    except Exception as cause:  # a damaged file makes pypdf raise anything: KeyError, RecursionError, its own errors
        raise DataError(
            f"{path} can't be read as PDF ({type(cause).__name__}: {cause}). Save or copy it again."
        ) from cause


def _sound(text: str) -> str:
    """Return the text with U+FFFD for halves of surrogate pairs, which broken fonts give."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
