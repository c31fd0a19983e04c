"""NewsQA's combined file: several readers, several answers."""

import json

import pytest

from spanwise.errors import DataError
from spanwise.tasks.qa.newsqa import looks_like_newsqa
from spanwise.tasks.qa.reader import read_questions

TEXT = "Rescuers found the crew near Busan. All nine men were alive, officials in Busan said. "


def story(**changes):
    question = {
        "q": "Where was the crew found?",
        "consensus": {"s": 29, "e": 36},
        "validatedAnswers": [{"s": 74, "e": 80, "count": 1}, {"s": 29, "e": 34, "count": 2}],
        "answers": [{"sourcerAnswers": [{"s": 24, "e": 34}]}, {"sourcerAnswers": [{"noAnswer": True}]}],
        **changes,
    }
    return {"version": "1", "data": [{"storyId": "./a.story", "text": TEXT, "type": "dev", "questions": [question]}]}


def read(tmp_path, record, **options):
    path = tmp_path / "news.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    return read_questions(path, **options)


def test_the_consensus_comes_first_then_the_votes_then_the_first_readers(tmp_path):
    (question,) = read(tmp_path, story()).questions
    assert question.id == "./a.story#1"
    assert [(a.text, a.start) for a in question.answers] == [
        ("Busan.", 29),  # as the consensus has it, without the blank at its end
        ("Busan", 29),
        ("Busan", 74),
        ("near Busan", 24),
    ]


def test_no_answer_is_no_answer_and_bad_questions_are_left_out(tmp_path):
    assert read(tmp_path, story(consensus={"noAnswer": True})).has_unanswerable
    record = story()
    record["data"][0]["questions"].append({"q": "Bad?", "consensus": {"badQuestion": True}})
    assert len(read(tmp_path, record).questions) == 1
    assert read(tmp_path, story(), purpose="predict").questions[0].answers == ()


def test_places_outside_the_text_are_named_or_dropped(tmp_path):
    wrong = story(consensus={"s": 29, "e": 900}, validatedAnswers=[], answers=[])
    with pytest.raises(DataError, match=r"news\.json, story '\./a\.story', question 1: .*29 to 900, outside"):
        read(tmp_path, wrong)
    with pytest.raises(DataError, match="no questions"):
        read(tmp_path, wrong, errors="repair")
    with pytest.raises(DataError, match="nothing but blanks"):
        read(tmp_path, story(consensus={"s": 8, "e": 9}))


def test_a_squad_file_is_none_of_these():
    assert looks_like_newsqa(story())
    for record in ([], {"data": []}, {"data": [{"paragraphs": []}]}, {"data": [3]}, None):
        assert not looks_like_newsqa(record)
