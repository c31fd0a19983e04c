"""Choices from scores, written and read back."""

import json

import numpy as np
import pytest

from spanwise.errors import DataError
from spanwise.tasks.multiple_choice.predictions import decide, read_predictions
from spanwise.tasks.multiple_choice.reader import ChoiceData, Question

DATA = ChoiceData(
    source="x",
    questions=(Question("a", "c", "", ("u", "v"), 0, "x"), Question("b", "c", "", ("u", "v", "w"), 2, "x")),
)
SCORES = [np.array([0.0, 1.0], dtype=np.float32), np.array([900.0, 1.0, 900.0], dtype=np.float32)]


def test_the_likeliest_choice_is_told_and_of_equal_ones_the_first():
    found = decide(DATA, SCORES, np.array([0, 4]))
    assert found.best == (1, 0)
    assert found.record(1) == {
        "choice": 0,
        "answer": "u",
        "score": 0.5,
        "scores": [0.5, 0.0, 0.5],
        "num_windows": 1,
        "num_dropped_tokens": 4,
    }


@pytest.mark.parametrize("suffix", [".json", ".tsv"])
def test_what_is_written_is_read_back(tmp_path, suffix):
    content = decide(DATA, SCORES, np.array([0, 4])).files()[suffix]
    path = tmp_path / f"p{suffix}"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    assert read_predictions(path) == {"a": 1, "b": 0}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("p.json", "[]", "expected an object"),
        ("p.json", '{"a": "x"}', "question 'a': 'x' came"),
        ("p.json", '{"a": true}', "True came"),
        ("p.tsv", "a\n", "line 1: 1 columns; a JSON object of id to choice, or lines of an id"),
    ],
)
def test_files_that_are_none_are_named(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=words):
        read_predictions(tmp_path / name)
