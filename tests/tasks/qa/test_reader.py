"""SQuAD files, good and bad."""

import gzip
import json
import lzma

import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.tasks.qa.reader import (
    looks_like_newsqa,
    parse_squad,
    read_json,
    read_null_odds,
    read_predictions,
    read_questions,
)

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
        data = read_questions(tmp_path / name)
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
        (lambda path: None, "does not exist"),
    ],
)
def test_a_damaged_file_is_named_with_the_reason(tmp_path, make, words):
    path = tmp_path / "bad.json"
    make(path)
    with pytest.raises(DataError, match=r"bad\.json") as error:
        read_questions(path)
    assert words in str(error.value)


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_truncated_archive_is_named(tmp_path, suffix, compress):
    path = tmp_path / f"cut.json{suffix}"
    path.write_bytes(compress(json.dumps(record()).encode())[:-12])
    with pytest.raises(DataError, match=r"ends too early|is not a whole"):
        read_questions(path)
    path.write_bytes(b"this is no archive")
    with pytest.raises(DataError, match=r"ends too early|is not a whole"):
        read_questions(path)


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
        parse(record(), errors="ignore")


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


MRQA_CONTEXT = "[PAR] Seoul lies on the Han. [DOC] The Han is 494 km long; SEOUL is old."


def mrqa_line(**changes):
    qa = {
        "qid": "q1",
        "question": "Which town?",
        "answers": ["Seoul", "the town of Seoul"],
        "detected_answers": [{"text": "Seoul", "char_spans": [[59, 63], [6, 10]], "token_spans": [[0, 0], [1, 1]]}],
        **changes,
    }
    return {"id": "", "context": MRQA_CONTEXT, "qas": [qa], "context_tokens": []}


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
    assert all(MRQA_CONTEXT[answer.start : answer.end] == answer.text for answer in question.answers)
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
    return {"id": "q1", "context": MRQA_CONTEXT, "question": "Which town?", "answers": answers, **changes}


def test_one_question_a_line_shares_its_passage_and_may_have_no_answer(tmp_path):
    none = row(id="q2", answers={"text": [], "answer_start": []})
    plain = {"context": MRQA_CONTEXT, "question": "How long?", "answer": "494 km", "answer_start": 46}
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


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"validatedAnswers": 3}, "'validatedAnswers' has the wrong type int"),
        ({"validatedAnswers": [{"s": 74, "e": 80, "count": "two"}]}, "'count' has the wrong type str"),
        ({"answers": [{"sourcerAnswers": 3}]}, "'sourcerAnswers' has the wrong type int"),
    ],
)
def test_answers_of_another_form_are_named_or_their_question_is_left_out(tmp_path, changes, words):
    record = story()
    record["data"][0]["questions"] += story(**changes)["data"][0]["questions"]
    with pytest.raises(DataError, match=rf"news\.json, story '\./a\.story', question 2.*{words}.*--errors repair"):
        read(tmp_path, record)
    found = read(tmp_path, record, errors="repair")
    assert (len(found.questions), found.num_dropped) == (1, 1)


def test_a_squad_file_is_none_of_these():
    assert looks_like_newsqa(story())
    for record in ([], {"data": []}, {"data": [{"paragraphs": []}]}, {"data": [3]}, None):
        assert not looks_like_newsqa(record)
