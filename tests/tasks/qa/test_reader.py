"""SQuAD files, good and bad."""

import gzip
import json
import lzma

import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.tasks.qa.reader import parse_squad, read_json, read_null_odds, read_predictions, read_squad

CONTEXT = "Seoul lies on the Han. The Han is 494 km long; Seoul is old."


def record(**question):
    qa = {"id": "q1", "question": "Where?", "answers": [{"text": "Seoul", "answer_start": 0}], **question}
    qa = {key: value for key, value in qa.items() if value is not None}
    return {"version": "1.1", "data": [{"title": "Han", "paragraphs": [{"context": CONTEXT, "qas": [qa]}]}]}


def parse(value, **options):
    return parse_squad(value, source="han.json", **options)


def test_a_file_is_read_plain_and_compressed(tmp_path):
    text = json.dumps(record())
    (tmp_path / "a.json").write_text("\ufeff" + text, encoding="utf-8")
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "a.json.xz").write_bytes(lzma.compress(text.encode()))
    for name in ("a.json", "a.json.gz", "a.json.xz"):
        data = read_squad(tmp_path / name)
        (question,) = data.questions
        assert data.context_of(question) == CONTEXT
        assert (question.id, question.text, question.answers[0].text, question.answers[0].end) == (
            "q1",
            "Where?",
            "Seoul",
            5,
        )
        assert not data.has_unanswerable


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.write_text('{"data": ['), "line 1, column 11: not JSON"),
        (lambda path: path.write_text('{"data": NaN}'), "NaN"),
        (lambda path: path.write_text('{"data": [], "data": []}'), "'data' stands twice"),
        (lambda path: path.write_text("[" * 100_000), "nested too deeply"),
        (lambda path: path.write_bytes(b'{"data": "\xff"}'), "UTF-8"),
        (lambda path: path.write_text("[]"), "list 'data'"),
        (lambda path: path.write_text('{"data": []}'), "no questions"),
        (lambda path: path.mkdir(), "folder"),
        (lambda path: None, "no such file"),
    ],
)
def test_a_damaged_file_is_named_with_the_reason(tmp_path, make, words):
    path = tmp_path / "bad.json"
    make(path)
    with pytest.raises(DataError, match=r"bad\.json") as error:
        read_squad(path)
    assert words in str(error.value)


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_truncated_archive_is_named(tmp_path, suffix, compress):
    path = tmp_path / f"cut.json{suffix}"
    path.write_bytes(compress(json.dumps(record()).encode())[:-12])
    with pytest.raises(DataError, match="damaged or cut off"):
        read_squad(path)
    path.write_bytes(b"this is no archive")
    with pytest.raises(DataError, match="damaged or cut off"):
        read_squad(path)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"answers": [{"text": "Seoul", "answer_start": 3}]}, "the context reads 'ul li'"),
        ({"answers": [{"text": "Seoul", "answer_start": 900}]}, "outside the context of 60 characters"),
        ({"answers": [{"text": "Seoul", "answer_start": -1}]}, "outside the context"),
        ({"answers": [{"text": "Seoul", "answer_start": "0"}]}, "wrong type str"),
        ({"answers": [{"text": " ", "answer_start": 5}]}, "an answer is empty"),
        ({"answers": [{"answer_start": 5}]}, "'text' is missing"),
        ({"answers": []}, "no answer, and this is a SQuAD 1.1 file"),
        ({"answers": None}, "'answers' is missing"),
        ({"question": "  "}, "'question' is empty"),
        ({"question": "half \ud800"}, "surrogate pair at character 5"),
        ({"is_impossible": True}, "'is_impossible' is true but it has answers"),
        ({"is_impossible": False, "answers": []}, "'is_impossible' is false but"),
        ({"is_impossible": "no"}, "must be true or false"),
    ],
)
def test_a_bad_question_is_named_with_file_article_and_id(question, words):
    with pytest.raises(DataError) as error:
        parse(record(**question))
    assert "han.json" in str(error.value) and "'Han'" in str(error.value) and "'q1'" in str(error.value)
    assert words in str(error.value)


def test_empty_contexts_and_repeated_ids_are_errors():
    empty = record()
    empty["data"][0]["paragraphs"][0]["context"] = " \n"
    with pytest.raises(DataError, match="paragraph 1: 'context' is empty"):
        parse(empty)
    twice = record()
    twice["data"].append(twice["data"][0])
    with pytest.raises(DataError, match="'q1': this id stands twice"):
        parse(twice)


@pytest.mark.parametrize("question", [{"is_impossible": True, "answers": []}, {"answers": []}])
def test_answerability_is_read_from_the_data(question):
    value = record(**question)
    value["version"] = "v2.0"
    assert parse(value).has_unanswerable
    if "is_impossible" in question:
        value["version"] = ""  # the mark alone is enough
        assert parse(value).has_unanswerable


def test_repair_moves_an_answer_to_its_nearest_place_and_drops_what_stands_nowhere():
    moved = parse(record(answers=[{"text": "Seoul", "answer_start": 40}]), errors="repair")
    assert (moved.questions[0].answers[0].start, moved.num_moved_answers) == (47, 1)
    both = record(answers=[{"text": "Busan", "answer_start": 0}, {"text": "Seoul", "answer_start": 0}])
    kept = parse(both, errors="repair")
    assert ([answer.text for answer in kept.questions[0].answers], kept.num_dropped_answers) == (["Seoul"], 1)
    with pytest.raises(DataError, match="no questions"):
        parse(record(answers=[{"text": "Busan", "answer_start": 0}]), errors="repair")
    with pytest.raises(ConfigError, match="'strict' or 'repair'"):
        read_squad("han.json", errors="ignore")


def test_prediction_needs_no_answers_and_scoring_no_offsets():
    assert parse(record(answers=None), purpose="predict").questions[0].answers == ()
    assert not parse(record(answers=None), purpose="predict").has_unanswerable
    wrong = record(answers=[{"text": "Seoul", "answer_start": 7}])
    assert parse(wrong, purpose="score").questions[0].answers[0].text == "Seoul"


def test_prediction_and_odds_files_are_checked(tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"q1": "Seoul", "q2": ""}')
    assert read_predictions(path) == {"q1": "Seoul", "q2": ""}
    path.write_text('{"q1": 0.5, "q2": -3}')
    assert read_null_odds(path) == {"q1": 0.5, "q2": -3}
    with pytest.raises(DataError, match="question 'q1': expected an answer text, got float"):
        read_predictions(path)
    path.write_text('{"q1": "high"}')
    with pytest.raises(DataError, match="'q1': expected a number"):
        read_null_odds(path)
    path.write_text('["q1"]')
    for read in (read_predictions, read_null_odds):
        with pytest.raises(DataError, match="expected an object"):
            read(path)
    assert read_json(path) == ["q1"]
