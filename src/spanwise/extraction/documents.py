"""The documents of a corpus as they were given: no character is changed, so that places in them hold in the file.

A broken document is handed on with what is wrong with it, and reading goes on behind it. A document of a text file is
its lines from the first to the last that is not blank (or the whole file); of JSON lines and parquet it is one field.
"""

import codecs
import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from spanwise.errors import ConfigError, DataError
from spanwise.runtime.json_text import decode_json
from spanwise.runtime.remote.paths import RemotePath, path_of
from spanwise.text.corpus import JSON_ENDINGS, MAX_DOCUMENT_CHARACTERS, corpus_files, ending_of
from spanwise.text.readers import open_bytes, parquet_values, row_text, without_byte_order_mark

MOST_BYTES = 4 * MAX_DOCUMENT_CHARACTERS  # of a document: UTF-8 has at most 4 per character
LEAST_LINE_MB, MOST_LINE_MB = 1, 1024  # a line of JSON lines is parsed whole, which takes several times its size


@dataclass(frozen=True)
class Document:
    """A document of a corpus. `id` is FILE#NUMBER; the number counts the documents of a text file, the lines of JSON
    lines and the rows of parquet, from 1. `offset`: characters of a text file before it (a mark of UTF-8 does not
    count), None for a row. `error` says why it can't be read, and its text is then ""."""

    id: str
    text: str = ""
    offset: int | None = None
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How files become documents. Raises: ConfigError for a `max_line_mb` out of range."""

    per_file: bool = False  # a text file is one document, blank lines and all
    errors: Literal["strict", "replace"] = "strict"  # bytes that are not UTF-8: list the document, or put U+FFFD
    text_field: str = "text"  # of JSON lines and parquet
    max_line_mb: int = 16  # MB; a longer line of JSON lines is listed, and never held whole

    def __post_init__(self) -> None:
        if not LEAST_LINE_MB <= self.max_line_mb <= MOST_LINE_MB:
            raise ConfigError(f"max_line_mb {self.max_line_mb}: expected {LEAST_LINE_MB} to {MOST_LINE_MB}.")


def named_files(paths: Iterable[str | Path]) -> dict[str, Path]:
    """Return the files of a corpus by the names that their documents get: below the one folder given, else as given;
    bytes of a name that are no UTF-8 stand in it as \\xNN.

    Raises: DataError where there is no file; ConfigError where a file is given twice or lies on another machine.
    """
    given = [path_of(path) for path in paths]
    for path in given:
        if isinstance(path, RemotePath):
            raise ConfigError(f"{path} lies elsewhere, and extract reads files of this machine; copy or mount it.")
    files = corpus_files(given)
    home = given[0] if len(given) == 1 and given[0].is_dir() else Path()
    names = [(file.relative_to(home) if home != Path() else file).as_posix() for file in files]
    return {os.fsencode(name).decode(errors="backslashreplace"): file for name, file in zip(names, files, strict=True)}


def documents_of_file(name: str, file: Path, options: ReadingOptions) -> Iterator[Document]:
    """Yield the documents of a file in order, the broken ones with their error; a blank one is left out.

    Where the file itself can't be read on (a cut archive), its last document says so, and has no number.
    Raises: ConfigError where pyarrow is needed and missing.
    """
    try:
        ending = ending_of(file)
        if ending == ".parquet":
            found = _of_parquet(name, file, options)
        elif ending in JSON_ENDINGS:
            found = _of_json_lines(name, file, options)
        else:
            found = _of_text(name, file, options)
        for document in found:
            if document.error or document.text.strip():
                yield _of_bearable_length(document)
    except DataError as error:
        yield Document(name, error=str(error))


def _of_bearable_length(document: Document) -> Document:
    if len(document.text) <= MAX_DOCUMENT_CHARACTERS:
        return document
    return Document(document.id, offset=document.offset, error=_too_long(f"{len(document.text):,} characters"))


def _too_long(what: str) -> str:
    return f"{what}, and a document has at most {MAX_DOCUMENT_CHARACTERS:,} characters; cut it into several."


def _not_utf8(raw: bytes, error: UnicodeDecodeError) -> str:
    where = f"byte {error.start} (0x{raw[error.start]:02x})"
    return f"{where} is not UTF-8; go on with errors=replace (--errors replace), or repair it."


def _of_text(name: str, file: Path, options: ReadingOptions) -> Iterator[Document]:
    number = offset = before = size = 0
    held: list[bytes] = []

    def finished() -> Document:
        place = f"{name}#{number}"
        if size > MOST_BYTES:
            return Document(place, offset=before, error=_too_long(f"{size:,} bytes"))
        raw = b"".join(held)
        try:
            return Document(place, raw.decode("utf-8", options.errors).rstrip("\r\n"), before)
        except UnicodeDecodeError as error:
            return Document(place, offset=before, error=_not_utf8(raw, error))

    decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a long line comes in parts, which may cut a character
    with open_bytes(file) as lines:
        for row, line in enumerate(iter(lambda: lines.readline(MOST_BYTES), b"")):
            raw = line if row else without_byte_order_mark(line, file)
            text = decoder.decode(raw)
            is_blank = not text.strip()
            if held and is_blank and not options.per_file:
                yield finished()
                held, size = [], 0
            if not is_blank or held:
                if not held:
                    number, before = number + 1, offset
                if size <= MOST_BYTES:  # of a longer one nothing more is kept
                    held.append(raw)
                size += len(raw)
            offset += len(text)
    if held:
        yield finished()


def _of_json_lines(name: str, file: Path, options: ReadingOptions) -> Iterator[Document]:
    most = options.max_line_mb * 10**6
    with open_bytes(file) as lines:
        for number, line in enumerate(iter(lambda: lines.readline(most + 1), b""), 1):
            raw = without_byte_order_mark(line, file) if number == 1 else line
            place = f"{name}#{number}"
            if len(line) > most:
                size = len(line) + _rest_of_line(lines, line)
                yield Document(place, error=_too_long_a_line(name, number, size, options.max_line_mb))
            elif raw.strip():
                yield _of_json_line(place, raw, options)


def _of_json_line(place: str, raw: bytes, options: ReadingOptions) -> Document:
    try:
        row = decode_json(raw.decode("utf-8", options.errors).rstrip("\r\n"))
        return Document(place, row_text(row, options.text_field, "the line", options.errors))
    except UnicodeDecodeError as error:
        return Document(place, error=_not_utf8(raw, error))
    except (DataError, ValueError) as error:
        return Document(place, error=f"no line of JSON with a text: {error}")


def _rest_of_line(lines: io.BufferedIOBase, begun: bytes) -> int:
    """Read on to the end of a line that was begun, and return how many bytes those were."""
    size = 0
    while not begun.endswith(b"\n") and (begun := lines.readline(MOST_BYTES)):
        size += len(begun)
    return size


def _too_long_a_line(name: str, number: int, size: int, most: int) -> str:
    return (
        f"line {number:,} of {name} has {size:,} bytes, and at most {most:,} MB are read. Cut it into one document per "
        "line, each with a line end, or raise max_line_mb (--max-line-mb)."
    )


def _of_parquet(name: str, file: Path, options: ReadingOptions) -> Iterator[Document]:
    field = options.text_field
    for number, value in parquet_values(file, field):
        place = f"{name}#{number}"
        try:
            yield Document(place, row_text({field: value}, field, "the row", options.errors))
        except DataError as error:
            yield Document(place, error=str(error))
