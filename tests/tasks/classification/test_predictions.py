"""Decisions from scores, and the files they are written to and read from."""

import json

import numpy as np
import pytest

from spanwise.errors import DataError
from spanwise.tasks.classification.predictions import decide, read_predictions

SCORES = [np.array([0.0, 2.0]), np.array([3.0, -1.0])]
COUNTS = {"num_windows": np.array([1, 2]), "num_dropped": np.array([0, 7])}


def decided(kind, labels=("no", "yes"), scores=SCORES):
    return decide(scores, ids=("a", "b"), kind=kind, labels=labels, threshold=0.5, **COUNTS)


def test_one_label_is_the_likeliest_with_the_softmax_of_all():
    found = decided("single_label")
    assert found.told == ("yes", "no")
    assert found.record(0) == {
        "label": "yes",
        "score": pytest.approx(0.8808, abs=1e-4),
        "scores": {"no": pytest.approx(0.1192, abs=1e-4), "yes": pytest.approx(0.8808, abs=1e-4)},
        "num_windows": 1,
        "num_dropped_tokens": 0,
    }
    assert found.record(1)["num_dropped_tokens"] == 7 and found.record(1)["num_windows"] == 2


def test_many_labels_are_those_above_the_threshold_and_a_number_is_itself():
    assert decided("multi_label").told == (("no", "yes"), ("no",))
    assert decided("multi_label").record(1)["labels"] == ["no"]
    number = decided("regression", (), [np.array([1.5]), np.array([-0.25])])
    assert number.record(1) == {"value": -0.25, "num_windows": 2, "num_dropped_tokens": 7}


@pytest.mark.parametrize("kind", ["single_label", "multi_label", "regression"])
@pytest.mark.parametrize("suffix", [".json", ".tsv"])
def test_what_is_written_is_read_back(tmp_path, kind, suffix):
    scores = [np.array([1.5]), np.array([-0.25])] if kind == "regression" else SCORES
    found = decided(kind, scores=scores)
    content = found.files()[suffix]
    path = tmp_path / f"p{suffix}"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    assert read_predictions(path, kind) == dict(zip(found.ids, found.told, strict=True))


def test_labels_that_lines_cannot_hold_are_in_the_json_alone(tmp_path, caplog):
    for label in ("so\ngood", "x\ty"):
        assert decided("single_label", labels=(label, "bad")).files().keys() == {".json"}
    assert "no .tsv is written" in caplog.text


def test_labels_with_commas_are_read_back_whole(tmp_path):
    found = decided("multi_label", labels=("red, dark", "blue"), scores=[np.array([2.0, 2.0]), np.array([-2.0, 2.0])])
    path = tmp_path / "p.tsv"
    path.write_text(found.files()[".tsv"])
    assert read_predictions(path, "multi_label") == {"a": ("red, dark", "blue"), "b": ("blue",)}


@pytest.mark.parametrize(
    ("name", "text", "kind", "words"),
    [
        ("p.json", "[]", "single_label", "expected an object"),
        ("p.json", '{"a": null}', "single_label", "example 'a': None came; one label"),
        ("p.json", '{"a": "x"}', "regression", "a number was expected"),
        ("p.json", '{"a": 3}', "multi_label", "a list of labels"),
        ("p.tsv", "a\n", "single_label", "line 1: 1 columns"),
        ("p.tsv", "a\t1\na\t2\n", "single_label", "stands on two lines"),
    ],
)
def test_files_that_are_none_are_named(tmp_path, name, text, kind, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=words):
        read_predictions(tmp_path / name, kind)
