"""Text in, a file of questions out: alike for equal seeds, in any process."""

import json
import os
import subprocess
import sys
import unicodedata

import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.questions import answered, make
from spanwise.questions.answered import AnswerFilter
from spanwise.questions.make import make_questions
from spanwise.questions.passages import passages
from spanwise.tasks.qa.reader import read_questions
from spanwise.text.sentences import MAX_SENTENCE_CHARACTERS
from spanwise.text.word_runs import WordRuns


def test_what_is_reported_is_in_the_file(text, tmp_path):
    report = make_questions([text], tmp_path / "q.json", impossible=0.3)
    data = read_questions(tmp_path / "q.json")
    assert report.num_questions == len(data.questions) == sum(report.kinds.values()) == sum(report.forms.values())
    assert report.num_impossible == sum(not question.answers for question in data.questions) > 0
    assert report.num_documents == 2
    assert abs(report.forms["wh"] - report.forms["cloze"]) <= 1 + report.num_questions // 2


def test_a_seed_gives_equal_bytes_in_every_process_and_another_seed_others(text, tmp_path):
    command = (
        "import sys; from spanwise.questions.make import make_questions as m; m(sys.argv[1:2], sys.argv[2], seed=4)"
    )
    arguments = [sys.executable, "-c", command, str(text), str(tmp_path / "their.json")]
    subprocess.run(arguments, check=True, env={**os.environ, "PYTHONHASHSEED": "7919"})
    for name, seed in (("our", 4), ("other", 5)):
        make_questions([text], tmp_path / f"{name}.json", seed=seed)
    their, our, other = ((tmp_path / f"{name}.json").read_bytes() for name in ("their", "our", "other"))
    assert their == our != other


def test_documents_may_be_counted_on_their_way(text, tmp_path):
    seen = []
    watch = lambda documents: (seen.append(one) or one for one in documents)  # noqa: E731
    report = make_questions([text], tmp_path / "q.json", watch=watch)
    assert len(seen) == report.num_documents == 2


def test_it_stops_at_the_number_asked_for(text, tmp_path):
    report = make_questions([text], tmp_path / "q.json", max_questions=3)
    assert report.num_questions == len(read_questions(tmp_path / "q.json").questions) == 3


def test_of_a_document_that_holds_words_of_a_test_file_nothing_is_made(text, tmp_path):
    held_out = "In 1888, ANNA Winter discovered the blue moss"  # of the second document alone, in another case
    report = make_questions([text], tmp_path / "q.json", not_from=[squad_file(tmp_path, held_out)])
    assert (report.num_refused, report.num_documents) == (1, 1)
    make_questions([text], tmp_path / "all.json")
    kept, every = (read_questions(tmp_path / name).contexts for name in ("q.json", "all.json"))
    assert any("Anna" in context for context in every)
    assert kept and not any("Anna" in context for context in kept)


@pytest.mark.parametrize(
    "held_out",
    [
        "Moss, dams and gardens of the far north",  # a heading, of which no question is made
        "Fair in spring. The dam at Lake Orrin was",  # goes over the end of a line
        "It rained a lot. It snowed too, said he",  # goes over a heading that is left out
    ],
)
def test_what_is_compared_is_the_document_as_it_is_and_as_it_is_read(text, english, tmp_path, held_out):
    lines = [
        "Moss, dams and gardens of the far north",
        *english,
        "It rained a lot.",
        "Weather",
        "It snowed too, said he.",
    ]
    text.write_text("\n".join(lines) + "\n\n" + "\n".join(english[:3]).replace("Clara", "Anna"))
    report = make_questions([text], tmp_path / "q.json", not_from=[squad_file(tmp_path, held_out)])
    assert (report.num_refused, report.num_documents) == (1, 1)


def test_a_question_that_stands_in_a_test_file_is_left_out(text, tmp_path):
    make_questions([text], tmp_path / "all.json")
    asked = [question.text for question in read_questions(tmp_path / "all.json").questions]
    in_other_order = next(
        words for words in asked if len(runs := WordRuns([words])) and not runs.shares(text.read_text())
    )
    report = make_questions([text], tmp_path / "q.json", not_from=[squad_file(tmp_path, in_other_order)])
    kept = [question.text for question in read_questions(tmp_path / "q.json").questions]
    assert report.num_refused == 0 and in_other_order not in kept and set(kept) < set(asked)


def squad_file(folder, context):
    """A question file with one paragraph."""
    qas = [{"id": "1", "question": "What?", "answers": [{"text": context.split()[0], "answer_start": 0}]}]
    squad = {"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": context, "qas": qas}]}]}
    (folder / "dev.json").write_text(json.dumps(squad))
    return folder / "dev.json"


def test_korean_text_gives_korean_questions(korean, tmp_path):
    (tmp_path / "ko.txt").write_text("\n".join(korean))
    report = make_questions([tmp_path / "ko.txt"], tmp_path / "q.json", language="ko")
    data = read_questions(tmp_path / "q.json")
    assert report.num_questions == len(data.questions) > 3
    other = make_questions([tmp_path / "ko.txt"], tmp_path / "other.json", language="ko", same_sentence=0.0)
    assert other.num_questions < report.num_questions
    words = ("누가", "누구", "언제", "어디", "어느", "몇", "무엇", "___", "은?", "는?")
    assert all(any(word in question.text for word in words) for question in data.questions)


def test_text_without_anything_that_returns_says_so_and_leaves_no_file(tmp_path):
    (tmp_path / "poor.txt").write_text("It rained all day. Nobody went out at all.")
    with pytest.raises(DataError, match="two of its passages, and 0 lines"):
        make_questions([tmp_path / "poor.txt"], tmp_path / "q.json")
    assert not (tmp_path / "q.json").exists()


def test_text_that_all_stands_in_the_forbidden_files_is_said_so(text, tmp_path):
    make_questions([text], tmp_path / "all.json")
    with pytest.raises(DataError, match=r"2 documents of the text are left out, because eight words .*--not-from"):
        make_questions([text], tmp_path / "q.json", not_from=[tmp_path / "all.json"])
    assert not (tmp_path / "q.json").exists()


def test_of_a_long_line_all_is_asked_about(tmp_path, monkeypatch):
    told = "In {} Clara Winter saw the Royal Garden. The Royal Garden kept {} plants in its houses."
    line = " ".join(told.format(1700 + n, 1000 + n) for n in range(299))
    (tmp_path / "line.txt").write_text(line)
    cut = []
    monkeypatch.setattr(make, "passages", lambda lines, language: cut.extend(passages(lines, language)) or cut)
    make_questions([tmp_path / "line.txt"], tmp_path / "q.json")
    assert len(line) > 2 * MAX_SENTENCE_CHARACTERS and " ".join(cut) == line


def test_text_of_white_space_alone_is_told_so(tmp_path):
    (tmp_path / "blank.txt").write_text("\n \n")
    with pytest.raises(DataError, match=r"blank\.txt holds no text"):
        make_questions([tmp_path / "blank.txt"], tmp_path / "q.json")


def test_letters_that_a_file_has_apart_are_put_together(text, tmp_path):
    text.write_text(unicodedata.normalize("NFD", text.read_text().replace("Clara", "Cléra")))
    make_questions([text], tmp_path / "q.json")
    contexts = read_questions(tmp_path / "q.json").contexts
    assert any("Cléra" in context for context in contexts)
    assert all(unicodedata.is_normalized("NFC", context) for context in contexts)


def test_a_filter_that_leaves_nothing_is_told_so(text, tmp_path, monkeypatch):
    monkeypatch.setattr(answered, "load_task_model", lambda *given, **named: None)
    monkeypatch.setattr(AnswerFilter, "_is_found", lambda self, asked: {made.id: False for made in asked})
    with pytest.raises(DataError, match=r"Every question that was made \(\d+\) is left out: reader finds none"):
        make_questions([text], tmp_path / "q.json", keep=AnswerFilter(model="reader"))
    assert not (tmp_path / "q.json").exists()


@pytest.mark.parametrize(("options", "told"), [({"language": "fr"}, "'fr'"), ({"max_questions": 0}, "at least 1")])
def test_wrong_options_are_named(text, tmp_path, options, told):
    with pytest.raises(ConfigError, match=told):
        make_questions([text], tmp_path / "q.json", **options)
