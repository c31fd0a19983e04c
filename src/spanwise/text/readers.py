"""Lines of text files and rows of tables, whatever they are packed in; always streamed, in bounded memory.

Every reader is a generator over one file that gives a thing with its place (the number of its line or row, from 1),
and whose errors name the file and that place.
"""

import bz2
import contextlib
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import BinaryIO, Literal

import zstandard

from spanwise.errors import ConfigError, DataError
from spanwise.runtime.json_text import decode_json
from spanwise.runtime.remote.paths import open_bytes_of
from spanwise.runtime.suggest import did_you_mean

OnInvalid = Literal["strict", "replace"]

COMPRESSIONS = (".gz", ".xz", ".zst", ".bz2")
MAX_PIECE_BYTES = 1 << 20  # a longer line is handed on in pieces
MAX_ROW_BYTES = 1 << 28  # a JSON row has to be parsed whole
_BUFFER_BYTES = 1 << 18
_LARGEST_WINDOW = 1 << 31  # bytes that a .zst file may look back: what `zstd --long=31` writes, the most there is


@dataclass(frozen=True)
class Line:
    """One line of a file, or a piece of a line too long to hold."""

    number: int  # from 1
    text: str  # without the line end
    ends: bool = True  # False: the next item goes on with the same line


class _ZstdStream(io.RawIOBase):
    """Frames of a .zst file one after the other. (The library's own stream reader takes a cut file for a short one.)"""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._ready, self._at = b"", 0  # unpacked bytes, and how many of them were read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        while self._at == len(self._ready):
            self._ready, self._at = b"", 0
            packed = self._file.read(_BUFFER_BYTES >> 3)
            if not packed:
                if self._frame is not None:
                    raise EOFError("the last frame is not complete")
                return 0
            while packed:
                self._frame = self._frame or zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).decompressobj()
                self._ready += self._frame.decompress(packed)
                packed = self._frame.unused_data if self._frame.eof else b""
                if self._frame.eof:
                    self._frame = None
        count = min(len(buffer), len(self._ready) - self._at)
        buffer[:count] = self._ready[self._at : self._at + count]
        self._at += count
        return count


@contextlib.contextmanager
def open_bytes(path: Path) -> Iterator[io.BufferedIOBase]:
    """Open a file for reading bytes, unpacked by its name's ending (.gz, .xz, .zst, .bz2).

    Raises: DataError naming the file where it is missing, unreadable, truncated or not what its ending says.
    """
    try:
        with contextlib.ExitStack() as stack:
            raw = stack.enter_context(open_bytes_of(path))
            opened: io.BufferedIOBase = raw
            match path.suffix.lower():
                case ".gz":
                    opened = stack.enter_context(gzip.GzipFile(fileobj=raw))
                case ".xz":
                    opened = stack.enter_context(lzma.LZMAFile(raw))
                case ".bz2":
                    opened = stack.enter_context(bz2.BZ2File(raw))
                case ".zst":
                    opened = io.BufferedReader(_ZstdStream(raw), _BUFFER_BYTES)
            yield opened
    except EOFError as cause:
        raise DataError(
            f"{path} ends too early: the compressed file is truncated. Copy or download it again."
        ) from cause
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError) as cause:
        raise DataError(f"{path} is not a whole {path.suffix} file ({cause}). Copy or download it again.") from cause
    except FileNotFoundError as cause:
        raise DataError(f"{path} does not exist.") from cause
    except OSError as cause:
        raise DataError(f"{path} cannot be read: {cause.strerror or cause}.") from cause


def read_lines(path: Path, errors: OnInvalid = "strict") -> Iterator[Line]:
    """The lines of a UTF-8 text file. Line ends may be LF or CRLF; a byte order mark and the last line end are free.

    Raises: DataError as `open_bytes`, and where a line is not valid UTF-8 (`errors="replace"` puts U+FFFD instead).
    """
    number, rest, started = 1, b"", False
    with open_bytes(path) as file:
        while raw := file.readline(MAX_PIECE_BYTES):
            if not started:
                started = True
                raw = without_byte_order_mark(raw, path)
            ends = raw.endswith(b"\n")
            raw, rest = rest + raw, b""
            if not ends and len(raw) >= MAX_PIECE_BYTES:
                cut = _cutting_point(raw)
                raw, rest = raw[:cut], raw[cut:]
            yield Line(number, _decode(raw, path, number, errors).rstrip("\r\n"), ends)
            number += ends
        if rest:
            yield Line(number, _decode(rest, path, number, errors))


def read_json_lines(path: Path, errors: OnInvalid = "strict") -> Iterator[tuple[int, object]]:
    """The value on each line of a JSON lines file, with its line number. Blank lines are passed over.

    Raises: DataError as `read_lines`, and where a line is not JSON or too long to parse whole.
    """
    with open_bytes(path) as file:
        number = 0
        while raw := file.readline(MAX_ROW_BYTES):
            number += 1
            if number == 1:
                raw = without_byte_order_mark(raw, path)
            if len(raw) >= MAX_ROW_BYTES:
                raise DataError(f"{path} line {number} is longer than {MAX_ROW_BYTES >> 20} MiB. Is it JSON lines?")
            line = _decode(raw, path, number, errors)
            if not line.strip():
                continue
            try:
                yield number, decode_json(line)
            except ValueError as cause:
                raise DataError(
                    f"{path} line {number} is not JSON ({cause}). JSON lines hold one object a line, such as "
                    '{"text": "..."}.'
                ) from cause


def read_json_rows(path: Path, field: str, errors: OnInvalid = "strict") -> Iterator[tuple[int, str]]:
    """The text field of each row of a JSON lines file, with the row's line number.

    Raises: DataError as `read_json_lines`, and where a row is not an object with a string under `field`.
    """
    for number, row in read_json_lines(path, errors):
        yield number, row_text(row, field, f"{path} line {number}", errors)


def read_parquet_rows(path: Path, field: str, errors: OnInvalid = "strict") -> Iterator[tuple[int, str]]:
    """The text column of a parquet file, row by row, with the row's number from 1.

    Raises: as `parquet_values`, and DataError where a row holds no text.
    """
    for number, value in parquet_values(path, field):
        yield number, row_text({field: value}, field, f"{path} row {number}", errors)


def parquet_values(path: Path, field: str) -> Iterator[tuple[int, object]]:
    """A column of a parquet file as it is, row by row, with the row's number from 1.

    Raises: ConfigError where pyarrow is not installed; DataError where the file or the column cannot be read.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as cause:
        raise ConfigError(
            f"{path}: parquet files need pyarrow. Install it with: pip install 'spanwise[parquet]'"
        ) from cause
    try:
        with open_bytes_of(path) as raw, pyarrow.parquet.ParquetFile(raw) as table:
            names = table.schema_arrow.names
            if field not in names:
                raise DataError(_no_such_field(str(path), field, names))
            number = 0
            for batch in table.iter_batches(batch_size=256, columns=[field]):
                for value in batch.column(0).to_pylist():
                    number += 1
                    yield number, value
    except FileNotFoundError as cause:
        raise DataError(f"{path} does not exist.") from cause
    except (pyarrow.ArrowException, OSError) as cause:
        raise DataError(f"{path} cannot be read as parquet: {cause}") from cause


def without_byte_order_mark(raw: bytes, path: Path) -> bytes:
    """Return the first line of a file without its mark of UTF-8. Raises: DataError for UTF-16."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path} is UTF-16 text; UTF-8 is needed. Convert it: iconv -f UTF-16 -t UTF-8 {path.name}")
    return raw.removeprefix(b"\xef\xbb\xbf")


def _cutting_point(raw: bytes) -> int:
    """Return where to cut a long line: after a space in its second half, else before its last character."""
    space = raw.rfind(b" ", len(raw) // 2)
    if space >= 0:
        return space + 1
    end = len(raw) - 1
    while raw[end] & 0xC0 == 0x80 and end > len(raw) - 4:  # a character has at most three continuation bytes
        end -= 1
    return end


def _decode(raw: bytes, path: Path, number: int, errors: OnInvalid) -> str:
    try:
        return raw.decode("utf-8", errors)
    except UnicodeDecodeError as cause:
        raise DataError(
            f"{path} line {number} is not valid UTF-8 (byte 0x{raw[cause.start]:02x} after "
            f"{raw[: cause.start].decode('utf-8')[-20:]!r}). {how_to_convert(raw, path.name)}, or go on with "
            "errors=replace (--errors replace), which puts U+FFFD there."
        ) from cause


def how_to_convert(raw: bytes, name: str) -> str:
    """Return what to do with text that is not UTF-8: the command where it reads as Korean in its older encoding."""
    try:
        letters = [letter for letter in raw.decode("cp949") if not letter.isascii()]
    except UnicodeDecodeError:
        letters = []
    # curly marks of Western encodings read as rare syllables; EUC-KR writes the common ones in two bytes
    common = sum("\uac00" <= letter <= "\ud7a3" and len(letter.encode("euc_kr")) == 2 for letter in letters)
    is_korean = 2 * common > len(letters)
    return f"Convert it: iconv -f CP949 -t UTF-8 {quote(name)} > NEW" if is_korean else "Convert the file to UTF-8"


def row_text(row: object, field: str, where: str, errors: OnInvalid) -> str:
    """Return the text field of a row. Raises: DataError where the row is no object with a text there."""
    if not isinstance(row, dict):
        raise DataError(f"{where} holds a {type(row).__name__}; an object with a {field!r} field is expected.")
    if field not in row:
        raise DataError(_no_such_field(where, field, [str(name) for name in row]))
    text = row[field]
    if text is None and errors == "replace":
        return ""
    if text is None:
        raise DataError(
            f"{where}: field {field!r} is null; text is expected. Take the row out, or go on with errors=replace "
            "(--errors replace), which passes over such rows."
        )
    if not isinstance(text, str):
        raise DataError(f"{where}: field {field!r} holds a {type(text).__name__}; text is expected.")
    try:
        text.encode()
    except UnicodeEncodeError as cause:  # half a surrogate pair, written as a JSON escape
        if errors == "strict":
            raise DataError(
                f"{where}: field {field!r} holds half a surrogate pair at character {cause.start}, which is no text. "
                "Repair the row, or go on with errors=replace (--errors replace)."
            ) from cause
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _no_such_field(where: str, field: str, names: list[str]) -> str:
    found = ", ".join(map(repr, names[:12])) or "nothing"
    hint = did_you_mean(field, names)
    return f"{where} has no field {field!r}; it has {found}. Name it with text_field (--text-field).{hint}"
