"""From a file to its lines, by the ending of its name."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from spanwise.asking.documents import TextLine
from spanwise.asking.documents.docx import docx_lines
from spanwise.asking.documents.html import html_lines
from spanwise.asking.documents.hwpx import hwpx_lines
from spanwise.asking.documents.markdown import markdown_lines
from spanwise.asking.documents.pdf import pdf_lines
from spanwise.asking.documents.plain import plain_lines
from spanwise.errors import ConfigError, DataError
from spanwise.text.corpus import FOLDER_ENDINGS, ending_of
from spanwise.text.readers import OnInvalid

HTML, MARKDOWN = (".html", ".htm", ".xhtml"), (".md", ".markdown")
PDF, DOCX, HWPX = ".pdf", ".docx", ".hwpx"
ENDINGS = (*FOLDER_ENDINGS, *MARKDOWN, ".rst", *HTML, PDF, DOCX, HWPX)
OPTIONAL_PACKAGES = ("pypdf", "pyarrow")


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How documents are read. Raises: ConfigError for an unknown value."""

    errors: OnInvalid = (
        "strict"  # "replace": U+FFFD for bytes that are not UTF-8, and files that can't be read left out
    )
    text_field: str = "text"  # of JSON lines and parquet

    def __post_init__(self) -> None:
        if self.errors not in ("strict", "replace") or not self.text_field:
            raise ConfigError(f"errors is 'strict' or 'replace', and text_field a name; got {self!r}.")


@dataclass(frozen=True, kw_only=True)
class DocumentFile:
    """A file of a folder, and by what it is seen to have changed."""

    name: str  # below the folder, with "/" between its parts
    size: int  # bytes
    mtime_ns: int


@dataclass(frozen=True, kw_only=True)
class FolderFiles:
    """The files of a folder that can be read, by name, and how many there are of each other ending."""

    files: list[DocumentFile]
    passed_over: Counter[str]


def document_files(folder: Path) -> FolderFiles:
    """Return the files of a folder that can be read, at any depth, and how many others; hidden ones do not count.

    Raises: DataError where there are none, or no such folder.
    """
    if not folder.is_dir():
        what = "is a file; name the folder it lies in" if folder.exists() else "does not exist; name a folder of text"
        raise DataError(f"{folder} {what}.")
    found: list[DocumentFile] = []
    others: list[str] = []
    for root, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(root, name)
            if name.startswith(".") or not path.is_file():
                continue
            if ending_of(path) not in ENDINGS:
                others.append(name)
                continue
            state = path.stat()
            place = path.relative_to(folder).as_posix()
            found.append(DocumentFile(name=place, size=state.st_size, mtime_ns=state.st_mtime_ns))
    if not found:
        seen = ", ".join(others[:3]) + (" ..." if len(others) > 3 else "") if others else "no files"
        raise DataError(f"{folder} holds nothing to read (found: {seen}). Read are {', '.join(ENDINGS)}.")
    endings = Counter(ending_of(Path(name)) for name in others)
    return FolderFiles(files=sorted(found, key=lambda file: file.name), passed_over=endings)


def _refuse(error: OSError) -> None:
    raise DataError(f"{error.filename} cannot be read: {error.strerror}.")


def read_document(path: Path, options: ReadingOptions) -> Iterator[TextLine]:
    """Yield the lines of a file.

    Raises: DataError where it can't be read; ConfigError where that needs a package that is not installed.
    """
    ending = ending_of(path)
    if ending in HTML:
        return html_lines(path, options.errors)
    if ending in MARKDOWN:
        return markdown_lines(path, options.errors)
    if ending == PDF:
        return pdf_lines(path)
    if ending == DOCX:
        return docx_lines(path)
    if ending == HWPX:
        return hwpx_lines(path)
    return plain_lines(path, options.errors, options.text_field)


def installed_packages() -> list[str]:
    """Return those of the optional packages that can be imported; files that were left out wait for them."""
    return [name for name in OPTIONAL_PACKAGES if find_spec(name)]
