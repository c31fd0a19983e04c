"""KorQuAD's comparison by characters beside SQuAD's by words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.tasks.qa.data import Answer, Question, SquadData
from spanwise.tasks.qa.metrics import METRICS, metric_for, normalize_korean
from spanwise.tasks.qa.reader import parse_squad, read_predictions, read_squad
from spanwise.tasks.qa.score import score


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("《한강》은", "한강 은"),
        ("'서울' (수도)", "서울 수도"),
        ("‘The’ Seoul", "the seoul"),  # English articles stay
        ("1,989년 2월.", "1989년 2월"),
        ("“한강”", "“한강”"),  # these marks are not in the script's list
        ("<서울> 〈강〉 A-B", "서울 강 ab"),
    ],
)
def test_korean_normalisation_is_that_of_the_script(text, expected):
    assert normalize_korean(text) == expected


def f1(gold, guess):
    metric = METRICS["korquad"]
    return metric.f1(metric.normalize(gold), metric.normalize(guess), empty_may_match=False)


def test_f1_counts_characters_without_blanks():
    assert f1("1989년 2월 15일", "1989년 2월") == pytest.approx(2 * (7 / 7) * (7 / 10) / (1 + 7 / 10))
    assert f1("서울특별시", "서울") == pytest.approx(2 * 1 * (2 / 5) / (1 + 2 / 5))
    assert f1("서울", "부산") == 0 and f1("", "") == 0


@given(st.text("서울 강'《》(a1.", max_size=12), st.text("서울 강'《》(a1.", max_size=12))
def test_f1_is_symmetric_between_0_and_1_and_1_only_of_equal_letters(one, other):
    value = f1(one, other)
    assert value == f1(other, one) and 0 <= value <= 1
    letters = [sorted(normalize_korean(text).replace(" ", "")) for text in (one, other)]
    assert (value == 1) == (letters[0] == letters[1] != [])


def korean(version):
    qas = [{"id": "q", "question": "언제?", "answers": [{"text": "1989년 2월 15일", "answer_start": 0}]}]
    context = "1989년 2월 15일 서울에서"
    record = {"version": version, "data": [{"title": "서울", "paragraphs": [{"context": context, "qas": qas}]}]}
    return parse_squad(record, source="ko.json")


def test_a_file_that_calls_itself_korquad_is_scored_by_characters():
    assert score(korean("KorQuAD_v1.0_dev"), {"q": "2월 15일"})["f1"] == pytest.approx(100 * 2 * 0.5 / 1.5)
    assert score(korean("1.1"), {"q": "2월 15일"})["f1"] == pytest.approx(80.0)  # two of three words
    assert score(korean("1.1"), {"q": "2월 15일"}, metric=METRICS["korquad"])["f1"] == pytest.approx(100 * 2 / 3)
    assert metric_for("NewsQA").name == "squad" and metric_for("1.1", "korquad").name == "korquad"


def test_answers_of_several_readers_count_by_the_best():
    question = Question("q", "?", 0, (Answer("서울", -1), Answer("서울특별시", -1)))
    data = SquadData(
        source="own", version="KorQuAD", contexts=("",), titles=("",), questions=(question,), has_unanswerable=False
    )
    assert score(data, {"q": "서울특별시."})["exact"] == 100.0


@pytest.mark.slow
def test_korquads_own_example_scores_as_its_script_prints(data_folder):
    folder = data_folder / "qa" / "korquad"
    data = read_squad(folder / "KorQuAD_v1.0_dev.json.xz", purpose="score")
    predictions = read_predictions(folder / "dev-evaluate-in1.json.xz")
    scores = score(data, predictions)
    assert (scores["exact"], scores["f1"], scores["total"]) == (100.0, 100.0, 5774)
