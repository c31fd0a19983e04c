"""Runs of the paragraphs of question files."""

import json

import pytest

from spanwise.errors import DataError
from spanwise.tasks.qa.forbidden import paragraph_runs

CONTEXT = "The old mill by the river was sold to a family of bakers."


def test_paragraphs_of_all_files_count_and_their_questions_do_not(tmp_path):
    asked = "Which family of bakers once bought the mill that stood alone?"
    qas = [{"id": "1", "question": asked, "answers": []}]
    record = {"version": "v2.0", "data": [{"title": "T", "paragraphs": [{"context": CONTEXT, "qas": qas}]}]}
    (tmp_path / "one.json").write_text(json.dumps(record))
    record["data"][0]["paragraphs"][0]["context"] = "Nine grey geese walked over the frozen lake at dawn."
    (tmp_path / "two.json").write_text(json.dumps(record))
    runs = paragraph_runs([tmp_path / "one.json", tmp_path / "two.json"])
    assert runs.shares(f"They say {CONTEXT.upper()}")
    assert runs.shares("nine grey geese, walked over the frozen lake")
    assert not runs.shares(asked)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"gone\.json"):
        paragraph_runs([tmp_path / "gone.json"])
