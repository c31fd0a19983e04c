import json

import pytest

from spanwise.errors import DataError
from spanwise.tasks.files.answers import read_answers


def test_objects_hold_answers_or_records_of_them_and_tables_may_have_a_header(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"1": "a", "2": {"score": 3, "label": "b"}, "3": {"other": 1}}))
    assert read_answers(path, "label", what="label") == {"1": "a", "2": "b", "3": None}
    table = tmp_path / "p.tsv"
    table.write_text("index\tprediction\n1\ta\n\n2\tb\n")
    assert read_answers(table, what="label") == {"1": "a", "2": "b"}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("p.json", "[1]", "expected an object of id to choice, got a list"),
        ("p.tsv", "1\ta\tb\n", "line 1: 3 columns; an id and a choice"),
        ("p.tsv", "1\ta\n1\tb\n", "an id stands on two lines"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=words):
        read_answers(tmp_path / name, what="choice")
