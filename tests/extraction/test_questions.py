"""Questions come from lines, or from objects with names."""

import pytest

from spanwise.errors import DataError
from spanwise.extraction.questions import Question, read_questions


def test_lines_and_objects_give_questions(tmp_path):
    (tmp_path / "q.txt").write_text("Who won?\n\n When? \n")
    assert read_questions(tmp_path / "q.txt") == (Question("Who won?", "Who won?"), Question("When?", "When?"))
    (tmp_path / "q.jsonl").write_text('{"id": "w", "question": "Who won?"}\n{"question": "When?"}\n')
    assert read_questions(tmp_path / "q.jsonl") == (Question("w", "Who won?"), Question("When?", "When?"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"id": 1}\n',
        '{"question": "A?", "id": null}\n',
        '{"question": "A?", "id": ["x"]}\n',
        '{"question": "A?"}\n{"question": "A?"}\n',
    ],
)
def test_files_without_questions_or_with_one_twice_are_refused(tmp_path, text):
    (tmp_path / "q.jsonl").write_text(text)
    with pytest.raises(DataError, match=r"q\.jsonl"):
        read_questions(tmp_path / "q.jsonl")
