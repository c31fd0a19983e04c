"""Lines of text files and rows of tables keep their numbers."""

import json

import pyarrow
import pyarrow.parquet
import pytest

from spanwise.asking.documents import TextLine
from spanwise.asking.documents.plain import plain_lines
from spanwise.errors import DataError


def test_lines_of_a_text_file_have_their_numbers(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\nthree\n")
    found = list(plain_lines(tmp_path / "a.txt", "strict", "text"))
    assert found == [TextLine("one", 1), TextLine("", 2), TextLine("three", 3)]


def test_rows_stand_alone_each_on_one_line(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"body": "one\nmore"}) + "\n\n" + json.dumps({"body": "two"}))
    expected = [TextLine("one more", 1, is_alone=True), TextLine("two", 3, is_alone=True)]
    assert list(plain_lines(tmp_path / "a.jsonl", "strict", "body")) == expected
    pyarrow.parquet.write_table(pyarrow.table({"body": ["x", "y"]}), tmp_path / "a.parquet")
    assert [(line.text, line.number) for line in plain_lines(tmp_path / "a.parquet", "strict", "body")] == [
        ("x", 1),
        ("y", 2),
    ]


def test_bytes_that_are_no_utf_8_stop_or_are_replaced(tmp_path):
    (tmp_path / "a.txt").write_bytes("서울".encode("euc-kr"))
    with pytest.raises(DataError, match="line 1 is not valid UTF-8"):
        list(plain_lines(tmp_path / "a.txt", "strict", "text"))
    assert "\ufffd" in next(plain_lines(tmp_path / "a.txt", "replace", "text")).text
