"""Labelled files as text and as JSON: plain, `.gz` or `.xz`, in UTF-8 with or without a byte order mark."""

import gzip
import json
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from spanwise.errors import DataError
from spanwise.runtime.json_text import decode_json

Purpose = Literal["train", "score", "predict"]  # what a labelled file is read for
OnError = Literal["strict", "repair"]  # what is done with malformed rows: refused, or left out and counted


def read_text(path: str | Path) -> str:
    """The whole text of a file, line ends as they stand in it.

    Raises: DataError for a file that is missing, a folder, damaged or not UTF-8.
    """
    path = Path(path)
    openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
    try:
        with cast(BinaryIO, openers.get(path.suffix, open)(path, "rb")) as file:
            return file.read().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file.") from error
    except IsADirectoryError as error:
        raise DataError(f"{path} is a folder; name the file in it.") from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: not valid UTF-8 ({error.reason} at byte {error.start}); convert the file to UTF-8."
        ) from error
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: damaged or cut off ({error}); fetch or compress the file again.") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error


def read_lines(path: str | Path) -> list[str]:
    """The lines of a file without their ends, `\\n` or `\\r\\n`. Nothing else ends a line: a text may hold U+2028."""
    lines = read_text(path).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_json(path: str | Path) -> Any:
    """One JSON value. Raises: DataError naming the line; NaN, Infinity and repeated keys are errors."""
    return parse_json(read_text(path), str(path))


def parse_json(text: str, where: str, line: int = 1) -> Any:
    """One JSON value that begins on line `line` of the file `where`."""
    if not text.strip():
        raise DataError(f"{where}: the file is empty.")
    try:
        return decode_json(text, is_strict=True)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{where}, line {line + error.lineno - 1}, column {error.colno}: not JSON ({error.msg})."
        ) from error
    except ValueError as error:
        raise DataError(f"{where}: {error}.") from error


def plain_suffix(path: str | Path) -> str:
    """The suffix that tells a file's format: of `x.tsv.xz` it is `.tsv`."""
    path = Path(path)
    return (path.with_suffix("") if path.suffix in (".gz", ".xz") else path).suffix.lower()
