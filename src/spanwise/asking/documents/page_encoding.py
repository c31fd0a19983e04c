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
_DECLARED = re.compile(rb"<(?:meta|\?xml)[^>]*\b(?:charset|encoding)\s*=\s*[\"']?\s*([\w:.-]+)", re.I)
_UNKNOWN_TO_PYTHON = {"windows-949": "cp949", "windows-31j": "cp932", "x-sjis": "cp932"}
_LARGER = {
    "euc_kr": "cp949",
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
}
ENCODINGS = {"cp949", "cp932", "euc_jp", "iso2022_jp", "gb18030", "big5", "big5hkscs", "koi8-r", "koi8-u", "cp866"}
ENCODINGS |= {"cp874", *(f"cp125{number}" for number in range(9)), *(f"iso8859-{number}" for number in range(2, 17))}


def page_lines(path: Path, errors: OnInvalid) -> Iterator[Line]:
    """Yield the lines of a page. Raises: DataError where the file can't be read, or is not in its encoding."""
    encoding = declared_encoding(path)
    if encoding is None or _is_utf8(path):
        yield from read_lines(path, errors)
        return
    number = 1
    try:
        with open_bytes(path) as file, _decoded(file, encoding, errors) as text:
            while piece := text.readline(MAX_PIECE_BYTES):
                ends = piece.endswith("\n")
                yield Line(number, piece.rstrip("\r\n"), ends)
                number += ends
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} declares that it is {encoding}, and from line {number} on it is not. Mend the page, or go on with "
            "errors=replace (--errors replace), which puts U+FFFD there."
        ) from error


def declared_encoding(path: Path) -> str | None:
    """Return the encoding that a page declares, as Python names it; None for UTF-8, and for none that pages have."""
    with open_bytes(path) as file:
        found = _DECLARED.search(file.read(DECLARED_WITHIN))
    if found is None:
        return None
    label = found[1].decode().lower()
    try:
        name = codecs.lookup(_UNKNOWN_TO_PYTHON.get(label, label)).name
    except LookupError:
        return None
    name = _LARGER.get(name, name)
    return name if name in ENCODINGS else None  # Python knows more that are no encodings of pages


def _decoded(file: io.BufferedIOBase, encoding: str, errors: OnInvalid) -> io.TextIOWrapper:
    return io.TextIOWrapper(cast("io.BufferedReader", file), encoding, errors, newline="\n")


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
