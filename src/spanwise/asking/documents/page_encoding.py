"""The lines of an HTML page in the encoding that it has.

A page is read as UTF-8 where it is valid so, whatever it declares, and else in the encoding that its first kilobyte
declares. Names of older encodings stand for the larger ones that browsers take them for: EUC-KR for CP949.

Source: the WHATWG standards HTML (how a page declares its encoding) and Encoding (its names).
"""

import codecs
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from spanwise.errors import DataError
from spanwise.text.readers import MAX_PIECE_BYTES, Line, OnInvalid, open_bytes, read_lines

DECLARED_WITHIN = 1_024  # bytes
_DECLARED = re.compile(rb"<meta[^>]*\bcharset\s*=\s*[\"']?\s*([\w:.-]+)", re.I)
_UNKNOWN_TO_PYTHON = {"windows-949": "cp949", "windows-31j": "cp932", "x-sjis": "cp932"}
_LARGER = {
    "euc_kr": "cp949",
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
}


def page_lines(path: Path, errors: OnInvalid) -> Iterator[Line]:
    """Yield the lines of a page. Raises: DataError where the file can't be read, or is not in its encoding."""
    encoding = declared_encoding(path)
    if encoding is None or _is_utf8(path):
        yield from read_lines(path, errors)
        return
    number = 1
    try:
        with open_bytes(path) as file, io.TextIOWrapper(cast("io.BufferedReader", file), encoding, errors) as text:
            while piece := text.readline(MAX_PIECE_BYTES):
                ends = piece.endswith("\n")
                yield Line(number, piece.removesuffix("\n"), ends)
                number += ends
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} declares that it is {encoding}, and from line {number} on it is not. Mend the page, or go on with "
            "errors=replace (--errors replace), which puts U+FFFD there."
        ) from error


def declared_encoding(path: Path) -> str | None:
    """Return the encoding that a page declares, as Python names it; None where that is UTF-8, unknown or missing."""
    with open_bytes(path) as file:
        found = _DECLARED.search(file.read(DECLARED_WITHIN))
    if found is None:
        return None
    label = found[1].decode().lower()
    try:
        name = codecs.lookup(_UNKNOWN_TO_PYTHON.get(label, label)).name
    except LookupError:
        return None
    # a declaration that can be read byte by byte is in no UTF-16
    return None if name.startswith("utf") else _LARGER.get(name, name)


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with open_bytes(path) as file:
            while raw := file.read(MAX_PIECE_BYTES):
                decoder.decode(raw)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
