"""The file is one of SQuAD's shape, whole or not there."""

import errno
import io
import json

import pytest

from spanwise.errors import ConfigError, SpanwiseError
from spanwise.questions.document import Maker
from spanwise.questions.english import EnglishRules
from spanwise.questions.squad_file import SquadWriter
from spanwise.runtime.disk import DISK
from spanwise.tasks.qa.reader import read_questions
from spanwise.text.corpus import Document


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_the_reader_takes_it_and_what_it_has_no_key_for_stands_beside(english, tmp_path, share):
    maker = Maker(rules=EnglishRules(), impossible=share)
    document = Document("a/b.txt", 3, english)
    questions = list(maker.questions(english, 1))
    with SquadWriter(tmp_path / "deep" / "q.json", with_impossible=share > 0) as file:
        file.write(document, questions)
        file.write(document, [])
        file.write(Document("a/b.txt", 9, english), list(maker.questions(english, 2)))
    data = read_questions(tmp_path / "deep" / "q.json")
    assert len(data.questions) > len(questions)
    assert set(data.titles) == {"b.txt:3", "b.txt:9"}
    assert data.has_unanswerable == (share > 0)
    articles = json.loads((tmp_path / "deep" / "q.json").read_text("utf-8"))["data"]
    record = articles[0]["paragraphs"][0]["qas"][0]
    made = next(question for question in questions if question.id == record["id"])
    assert (record["kind"], record["form"]) == (made.kind, made.form)
    assert record["made_from"] == {"file": "a/b.txt", "line": 3, "sentence": made.sentence}


def test_after_an_error_the_old_file_stands(tmp_path):
    path = tmp_path / "q.json"
    path.write_text("old")
    with pytest.raises(RuntimeError), SquadWriter(path, with_impossible=False):
        raise RuntimeError
    assert [file.name for file in tmp_path.iterdir()] == ["q.json"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("is_noticed_early", [True, False])
def test_on_a_full_disk_the_old_file_stands_and_nothing_beside_it(english, tmp_path, monkeypatch, is_noticed_early):
    path = tmp_path / "q.json"
    path.write_text("old")

    class Full(io.FileIO):
        def write(self, content):
            raise OSError(errno.ENOSPC, "No space left on device")

    # `setattr` would leave a method behind
    monkeypatch.setitem(vars(DISK), "open_to_write", lambda place: io.BufferedWriter(Full(place, "w")))
    made = list(Maker(rules=EnglishRules()).questions(english, 1))
    with (
        pytest.raises((SpanwiseError, OSError), match=r"disk is full|No space"),
        SquadWriter(path, with_impossible=False) as file,
    ):
        file.write(Document("a/b.txt", 3, english), made)
        if is_noticed_early:
            file._file.flush()
    assert [file.name for file in tmp_path.iterdir()] == ["q.json"]
    assert path.read_text() == "old"


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"questions\.json"):
        SquadWriter(tmp_path, with_impossible=False)
