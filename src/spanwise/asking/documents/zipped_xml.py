"""The XML files inside a zip archive, which DOCX and HWPX are, read without trust.

Nothing is unpacked to the disk and nothing outside the archive is fetched. A document type declaration is refused,
since it can define entities that grow without end, and so is a part that unpacks to more than `MAX_PART_BYTES`.
"""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

from spanwise.errors import DataError

MAX_PART_BYTES = 256 << 20
MAX_DEPTH = 200  # of elements in each other: tables in tables have some thirty
Element = ElementTree.Element


@contextmanager
def open_archive(path: Path, kind: str) -> Iterator[zipfile.ZipFile]:
    """Open an archive; whatever is wrong with what is read inside the block is a DataError that names the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as cause:  # also: packed in a way that none knows
        raise DataError(f"{path} is no whole {kind} file ({cause}). Save or copy it again.") from cause
    except ElementTree.ParseError as cause:
        raise DataError(f"{path}: the text inside is damaged ({cause}). Save or copy it again.") from cause
    except OSError as cause:
        raise DataError(f"{path} cannot be read: {cause.strerror or cause}.") from cause


class _Bounded:
    """A part of an archive as it is unpacked, up to a bound, whatever size its header claims."""

    def __init__(self, file: IO[bytes], where: str) -> None:
        self._file, self._where, self._left = file, where, MAX_PART_BYTES

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise DataError(f"{self._where} unpacks to more than {MAX_PART_BYTES >> 20} MiB; it is left unread.")
        return data


class _Builder(ElementTree.TreeBuilder):
    """Makes elements, and refuses what no document of these formats has."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where, self._depth = where, 0

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        raise DataError(f"{self._where} declares a document type, which no such file needs; it is left unread.")

    def start(self, tag: str, attributes: dict[str, str]) -> Element:  # type: ignore[override]
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise DataError(f"{self._where} nests its elements more than {MAX_DEPTH} deep; it is left unread.")
        return super().start(tag, attributes)

    def end(self, tag: str) -> Element:
        self._depth -= 1
        return super().end(tag)


def read_part(archive: zipfile.ZipFile, name: str, path: Path) -> Element:
    """Return the root element of one XML part.

    Raises: DataError for what is refused; inside `open_archive` also for damage. KeyError: there is no such part.
    """
    where = f"{path}: {name}"
    with archive.open(name) as file:
        bounded = _Bounded(file, where)
        parser = ElementTree.XMLParser(target=_Builder(where))
        while data := bounded.read(1 << 20):
            parser.feed(data)
        root: Element = parser.close()
        return root


def local_name(element: Element) -> str:
    """Return the name of an element without its namespace, which differs between versions of a format."""
    return element.tag.rpartition("}")[2]


def attribute(element: Element, name: str) -> str:
    """Return an attribute by its name without namespace; "" where there is none."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")
