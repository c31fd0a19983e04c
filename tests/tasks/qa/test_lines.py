"""MRQA's files and files of one question a line, good and bad."""

import gzip
import json

import pytest

from spanwise.errors import DataError
from spanwise.tasks.qa.reader import read_questions

CONTEXT = "[PAR] Seoul lies on the Han. [DOC] The Han is 494 km long; SEOUL is old."


def mrqa_line(**changes):
    qa = {
        "qid": "q1",
        "question": "Which town?",
        "answers": ["Seoul", "the town of Seoul"],
        "detected_answers": [{"text": "Seoul", "char_spans": [[59, 63], [6, 10]], "token_spans": [[0, 0], [1, 1]]}],
        **changes,
    }
    return {"id": "", "context": CONTEXT, "qas": [qa], "context_tokens": []}


def write(path, *records, header=True, ends="\n", front=""):
    lines = [{"header": {"dataset": "NewsQA", "split": "dev"}}] if header else []
    text = front + "".join(json.dumps(record) + ends for record in [*lines, *records])
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize(("name", "ends", "front"), [("a.jsonl.gz", "\n", ""), ("a.jsonl", "\r\n", "\ufeff")])
def test_mrqa_places_are_inclusive_and_come_in_the_order_of_the_passage(tmp_path, name, ends, front):
    data = read_questions(write(tmp_path / name, mrqa_line(), ends=ends, front=front))
    (question,) = data.questions
    assert [(answer.text, answer.start) for answer in question.answers] == [("Seoul", 6), ("SEOUL", 59)]
    assert all(CONTEXT[answer.start : answer.end] == answer.text for answer in question.answers)
    assert (data.version, question.id, data.has_unanswerable) == ("NewsQA", "q1", False)


def test_mrqa_is_scored_on_its_answers_and_predicted_without_them(tmp_path):
    path = write(tmp_path / "dev.jsonl.gz", mrqa_line())
    scored = read_questions(path, purpose="score").questions[0]
    assert [answer.text for answer in scored.answers] == ["Seoul", "the town of Seoul"]
    bare = write(tmp_path / "test.jsonl", mrqa_line(answers=None, detected_answers=None))
    assert read_questions(bare, purpose="predict").questions[0].answers == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"detected_answers": [{"text": "Seoul", "char_spans": [[7, 11]]}]}, "reads 'eoul '"),
        ({"detected_answers": [{"text": "Seoul", "char_spans": [[6, 900]]}]}, "outside the context of 72"),
        ({"detected_answers": [{"text": "Seoul", "char_spans": [[6]]}]}, r"is \[6\]"),
        ({"detected_answers": [{"text": "Seoul", "char_spans": []}]}, "'char_spans' is empty"),
        ({"detected_answers": []}, "nothing to learn from"),
        ({"detected_answers": None}, "'detected_answers' is missing"),
        ({"question": " "}, "'question' is empty"),
        ({"qid": None}, "'id' is missing"),
    ],
)
def test_a_malformed_line_is_named_with_its_number_and_question(tmp_path, changes, words):
    path = write(tmp_path / "bad.jsonl", mrqa_line(qid="q0"), mrqa_line(**changes))
    with pytest.raises(DataError, match=rf"bad\.jsonl, line 3.*{words}"):
        read_questions(path)


def test_repair_moves_wrong_places_and_drops_what_stands_nowhere(tmp_path):
    wrong = {"detected_answers": [{"text": "Seoul", "char_spans": [[7, 11]]}]}
    gone = {"qid": "q2", "detected_answers": [{"text": "Busan", "char_spans": [[6, 10]]}]}
    data = read_questions(write(tmp_path / "a.jsonl", mrqa_line(**wrong), mrqa_line(**gone)), errors="repair")
    assert [question.id for question in data.questions] == ["q1"]
    assert (data.questions[0].answers[0].start, data.num_moved_answers, data.num_dropped_answers) == (6, 1, 1)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("", "no questions"),
        ('{"header": {}}\n', "no questions"),
        ('{"header": {}}\n{"context": "x"\n', "line 2, column 16: not JSON"),
        ("[1]\n", "line 1: expected an object"),
        ('{"context": "a", "qas": []}\n{"header": {}}\n', "line 2: a header must be the first line"),
    ],
)
def test_damaged_files_are_named(tmp_path, lines, words):
    path = tmp_path / "x.jsonl"
    path.write_text(lines)
    with pytest.raises(DataError, match=rf"x\.jsonl.*{words}"):
        read_questions(path)


def row(**changes):
    answers = {"text": ["Seoul"], "answer_start": [6]}
    return {"id": "q1", "context": CONTEXT, "question": "Which town?", "answers": answers, **changes}


def test_one_question_a_line_shares_its_passage_and_may_have_no_answer(tmp_path):
    none = row(id="q2", answers={"text": [], "answer_start": []})
    plain = {"context": CONTEXT, "question": "How long?", "answer": "494 km", "answer_start": 46}
    data = read_questions(write(tmp_path / "rows.jsonl", row(), none, plain, header=False))
    assert (len(data.contexts), data.has_unanswerable) == (1, True)
    assert [question.id for question in data.questions] == ["q1", "q2", "3"]
    assert [[a.text for a in question.answers] for question in data.questions] == [["Seoul"], [], ["494 km"]]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"answers": {"text": ["Seoul"], "answer_start": []}}, "1 answer texts came with 0 offsets"),
        ({"answers": {"text": ["Seoul"], "answer_start": [None]}}, "answer_start None"),
        ({"answers": {"text": ["Seoul"], "answer_start": [5]}}, "the context reads ' Seou'"),
        ({"answers": [{"text": ""}]}, "an answer is empty"),
        ({"answers": None}, "'answers' is missing"),
        ({"context": ""}, "'context' is empty"),
    ],
)
def test_a_bad_row_is_named_with_file_and_line(tmp_path, changes, words):
    with pytest.raises(DataError, match=rf"rows\.jsonl, line 1: .*{words}"):
        read_questions(write(tmp_path / "rows.jsonl", row(**changes), header=False))
