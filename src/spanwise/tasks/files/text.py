"""Labelled files as text and as JSON, in UTF-8 with or without a byte order mark; unpacked by the name's ending."""

import json
import os
from pathlib import Path
from typing import Any, Literal

from spanwise.errors import DataError
from spanwise.runtime.json_text import decode_json
from spanwise.text.readers import COMPRESSIONS, how_to_convert, open_bytes

Purpose = Literal["train", "score", "predict"]  # what a labelled file is read for
OnError = Literal["strict", "repair"]  # what is done with malformed rows: refused, or left out and counted


def read_text(path: str | Path) -> str:
    """The whole text of a file, line ends as they stand in it.

    Raises: DataError for a file that is missing, a folder, damaged or not UTF-8.
    """
    path = Path(path)
    if os.path.isdir(path):  # `is_dir` raises for a name too long or a folder that is closed
        raise DataError(f"{path} is a folder; name the file in it.")
    with open_bytes(path) as file:
        raw = file.read()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        cure = how_to_convert(raw, path.name)
        raise DataError(f"{path}: not valid UTF-8 ({error.reason} at byte {error.start}). {cure}.") from error


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


def without_compression(path: str | Path) -> Path:
    """The path that a file has when it is unpacked: of `x.tsv.xz` it is `x.tsv`."""
    path = Path(path)
    return path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path


def plain_suffix(path: str | Path) -> str:
    """The suffix that tells a file's format: of `x.tsv.xz` it is `.tsv`."""
    return without_compression(path).suffix.lower()
