"""Files as text and JSON: marks, line ends, compression, damage."""

import bz2
import gzip
import lzma

import pytest
import zstandard

from spanwise.errors import DataError
from spanwise.tasks.files.text import parse_json, plain_suffix, read_json, read_lines, read_text


def test_lines_end_at_line_feeds_alone(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone\r\ntwo\u2028still two\x85and\x1cmore\r\n\r\nlast".encode())
    assert read_lines(path) == ["one", "two\u2028still two\x85and\x1cmore", "", "last"]


@pytest.mark.parametrize(
    ("suffix", "opener"), [(".gz", gzip.open), (".xz", lzma.open), (".bz2", bz2.open), (".ZST", zstandard.open)]
)
def test_compressed_files_are_read_and_damaged_ones_named(tmp_path, suffix, opener):
    path = tmp_path / f"a.json{suffix}"
    with opener(path, "wb") as file:
        file.write('{"가": 1}'.encode())
    assert read_json(path) == {"가": 1} and plain_suffix(path) == ".json"
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(DataError, match=r"ends too early|is not a whole"):
        read_text(path)


def test_what_is_no_file_or_no_utf_8_is_named(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_text(tmp_path / "none")
    with pytest.raises(DataError, match="is a folder"):
        read_text(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        read_text(tmp_path / ("a" * 300))
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    with pytest.raises(DataError, match="byte 3"):
        read_text(tmp_path / "latin")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" \n", "the file is empty"),
        ('{"a": NaN}', "holds NaN"),
        ('{"a": 1, "a": 2}', "stands twice"),
        ('{"a":\n}', "line 6, column 1"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_is_none_is_refused_where_it_stands(text, words):
    with pytest.raises(DataError, match=words):
        parse_json(text, "here", 5)
