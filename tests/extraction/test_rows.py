"""Rows in both kinds of file."""

import json

import pyarrow.parquet
import pytest

from spanwise.errors import ConfigError
from spanwise.extraction.rows import COLUMNS, check_suffix, write_rows

ROW = {**dict.fromkeys(COLUMNS), "document": "a.txt#1", "task": "tagging", "kind": "PER", "start": 0, "score": 0.1}


def test_both_kinds_of_file_hold_the_same_rows(tmp_path):
    for suffix in (".jsonl", ".parquet"):
        assert write_rows(tmp_path / f"out{suffix}", [ROW, ROW], suffix) == 2
    table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert table.column_names == list(COLUMNS) and table.to_pylist() == [ROW, ROW]
    line = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert line == {name: value for name, value in ROW.items() if value is not None}


def test_no_rows_make_a_file_of_none(tmp_path):
    assert write_rows(tmp_path / "out.parquet", [], ".parquet") == 0
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").num_rows == 0


def test_another_kind_of_file_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="csv"):
        check_suffix(tmp_path / "out.csv")
