"""The official SQuAD numbers, to the last digit."""

import json
import random
import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import DataError
from spanwise.tasks.qa.data import Answer, Question, SquadData
from spanwise.tasks.qa.reader import parse_squad, read_predictions, read_questions
from spanwise.tasks.qa.score import (
    METRICS,
    best_threshold,
    metric_for,
    missing_predictions,
    normalize_answer,
    normalize_korean,
    official_table,
    raw_scores,
    score,
    score_files,
    threshold_to_keep,
)

CONTEXT = "The River Han flows through Seoul. It is 494 km long, and the Namhan is its longer arm."


def squad(answers_by_id: dict[str, list[str]], version: str = "v2.0"):
    qas = [
        {"id": id, "question": f"Question {id}?", "answers": [{"text": text, "answer_start": 0} for text in answers]}
        for id, answers in answers_by_id.items()
    ]
    record = {"version": version, "data": [{"title": "Han", "paragraphs": [{"context": CONTEXT, "qas": qas}]}]}
    return parse_squad(record, source="han.json", purpose="score")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  River Han.", "river han"),
        ("a an the", ""),
        ("Theatre, and anthem!", "theatre and anthem"),
        ("U.S.-Korea", "uskorea"),
        ("  “Seoul” ", "“seoul”"),  # only ASCII punctuation goes, as in the official script
        ("an\tapple\na day", "apple day"),
    ],
)
def test_normalisation_drops_case_punctuation_articles_and_white_space(text, expected):
    assert normalize_answer(text) == expected


def test_scores_worked_out_by_hand():
    data = squad({"q1": ["River Han", "the Han"], "q2": ["494 km"], "q3": []})
    # q1 shares "han" with "Han river flows": of gold "river han" 2 of 3 guessed tokens, all of the gold: F1 = 0.8
    scores = score(data, {"q1": "Han river flows", "q2": "494 KM.", "q3": "Seoul"})
    assert scores == {
        "exact": 100.0 / 3,
        "f1": 100.0 * (2 * (2 / 3) * 1.0 / (2 / 3 + 1.0) + 1.0) / 3,
        "total": 3,
        "HasAns_exact": 50.0,
        "HasAns_f1": 100.0 * (2 * (2 / 3) * 1.0 / (2 / 3 + 1.0) + 1.0) / 2,
        "HasAns_total": 2,
        "NoAns_exact": 0.0,
        "NoAns_f1": 0.0,
        "NoAns_total": 1,
    }


def test_an_empty_prediction_is_right_only_where_there_is_no_answer():
    scores = score(squad({"q1": ["Seoul"], "q2": []}), {"q1": "", "q2": ""})
    assert (scores["HasAns_exact"], scores["NoAns_exact"], scores["NoAns_f1"]) == (0.0, 100.0, 100.0)


def test_missing_predictions_count_as_wrong_and_are_named():
    data = squad({"q1": ["Seoul"], "q2": ["494 km"]}, version="1.1")
    assert score(data, {"q1": "Seoul"})["exact"] == 50.0
    assert missing_predictions(data, {"q1": "Seoul"}) == ["q2"]


def test_a_missing_prediction_is_not_the_answer_none():
    assert score(squad({"q1": ["Seoul"], "q2": []}), {"q1": "Seoul"})["NoAns_exact"] == 0.0


def test_gold_answers_that_normalise_to_nothing_follow_each_scripts_own_rule():
    # 1.1: "The" equals "the" (both become empty), yet no token is shared; 2.0: such golds are ignored
    old = score(squad({"q1": ["The", "Seoul"]}, version="1.1"), {"q1": "the"})
    new = score(squad({"q1": ["The", "Seoul"], "q2": []}), {"q1": "the", "q2": ""})
    assert (old["exact"], old["f1"]) == (100.0, 0.0)
    assert (new["HasAns_exact"], new["HasAns_f1"]) == (0.0, 0.0)


def test_predictions_of_another_data_set_are_an_error():
    with pytest.raises(DataError, match=r"none of the 1 predictions.*'q1'"):
        score(squad({"q1": ["Seoul"]}), {"x": "Seoul"})


def test_null_odds_above_the_threshold_count_as_no_answer():
    data, guesses = squad({"q1": ["Seoul"], "q2": []}), {"q1": "Seoul", "q2": "Seoul"}
    odds = {"q1": -2.0, "q2": 3.0}
    assert score(data, guesses, null_odds=odds, null_threshold=0.0)["exact"] == 100.0
    assert score(data, guesses, null_odds=odds, null_threshold=5.0)["exact"] == 50.0
    with pytest.raises(DataError, match="no number for question 'q2'"):
        score(data, guesses, null_odds={"q1": 0.0})


# An independent writing of the official rules, straight from their description, to compare with on random rows.


def plain_normal(text):
    text = "".join(ch for ch in text.lower() if ch not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def plain_f1(gold, guess):
    gold, guess = plain_normal(gold).split(), plain_normal(guess).split()
    if not gold or not guess:
        return float(gold == guess)
    same = sum((Counter(gold) & Counter(guess)).values())
    return 0 if same == 0 else 2 * (same / len(guess)) * (same / len(gold)) / (same / len(guess) + same / len(gold))


def plain_best(scores, guesses, odds, golds):
    """Try every threshold: the questions with odds up to it answer, the others abstain."""
    best = (sum(not gold for gold in golds.values()), 0.0)
    ordered = sorted(odds, key=lambda id: odds[id])
    for count in range(1, len(ordered) + 1):
        total = 0
        for place, id in enumerate(ordered):
            answers = place < count
            total += (scores[id] if answers else 0) if golds[id] else int(not answers or not guesses[id])
        if total > best[0] + 1e-9:
            best = (total, odds[ordered[count - 1]])
    return 100.0 * best[0] / len(scores), best[1]


def test_scores_and_thresholds_equal_an_independent_writing_on_random_rows():
    words = ["the", "Han", "river", "a", "Seoul", "494", "km", "long.", "arm", ""]
    for seed in range(30):
        draw = random.Random(seed)
        text = lambda: " ".join(draw.choices(words, k=draw.randint(1, 4)))  # noqa: B023, E731
        golds = {f"q{i}": [text() for _ in range(draw.randint(1, 3))] if i % 3 else [] for i in range(25)}
        guesses = {id: text() if draw.random() < 0.8 else "" for id in golds}
        odds = {id: draw.gauss(0, 2) for id in golds}
        exact, f1 = {}, {}
        for id, texts in golds.items():
            texts = [gold for gold in texts if plain_normal(gold)] or [""]
            exact[id] = max(plain_normal(gold) == plain_normal(guesses[id]) for gold in texts)
            f1[id] = max(plain_f1(gold, guesses[id]) for gold in texts)
        scores = score(squad(golds), guesses, null_odds=odds, null_threshold=1e9)
        assert scores["exact"] == pytest.approx(100 * sum(exact.values()) / 25)
        assert scores["f1"] == pytest.approx(100 * sum(f1.values()) / 25)
        for name, raw in (("exact", exact), ("f1", f1)):
            expected, threshold = plain_best(raw, guesses, odds, golds)
            assert scores[f"best_{name}"] == pytest.approx(expected)
            assert scores[f"best_{name}_thresh"] == threshold


def test_the_threshold_that_is_kept_gives_its_best_score_when_it_is_applied():
    draws = random.Random(5)
    for _ in range(200):
        ids = [f"q{number}" for number in range(draws.randint(1, 8))]
        data = squad({id: [] if draws.random() < 0.6 else ["River Han"] for id in ids} | {"last": []})
        told = {id: draws.choice(["River Han", "Han", "Seoul", ""]) for id in [*ids, "last"]}
        odds = {id: draws.randint(-5, 2) / 2 for id in told}  # many are equal, most below 0
        answerable = {question.id: bool(question.answers) for question in data.questions}
        kept = threshold_to_keep(raw_scores(data, told).f1, told, odds, answerable)
        applied = score(data, told, null_odds=odds, null_threshold=kept)["f1"]
        places = [min(odds.values()) - 1, *odds.values()]
        best = max(score(data, told, null_odds=odds, null_threshold=place)["f1"] for place in places)
        assert applied == pytest.approx(best)


def test_all_null_predictions_have_a_threshold_and_no_crash():
    data = squad({"q1": [], "q2": []})
    scores = score(data, {"q1": "", "q2": ""}, null_odds={"q1": 1.0, "q2": 2.0})
    assert (scores["best_f1"], scores["best_f1_thresh"]) == (100.0, 0.0)
    assert best_threshold({}, {}, {}, {}) == (0.0, 0.0)


@pytest.mark.slow
def test_published_predictions_score_exactly_as_the_official_scripts_print(request):
    folder = request.config.getoption("--data-folder")
    assert folder is not None, "this test needs the public data sets: pass --data-folder DIR"
    squad_folder = folder / "qa" / "squad"
    expected = json.loads((squad_folder / "peer_predictions" / "expected_scores.json").read_text())
    names = [name for name in expected if name.startswith("squad")]
    assert len(names) == 8
    for name in names:
        data = read_questions(squad_folder / f"{expected[name]['data']}.xz", purpose="score")
        predictions = read_predictions(squad_folder / "peer_predictions" / f"{name}.xz")
        scores = score(data, predictions)
        official = {key: value for key, value in expected[name].items() if key not in ("data", "missing_predictions")}
        assert {key: scores[key] for key in official} == official, name
        assert len(missing_predictions(data, predictions)) == expected[name]["missing_predictions"], name


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.json"
    path.write_text(json.dumps({"length": "494 km", "bridge": "1900", "tea": "May", "price": ""}))
    return path


def test_a_missing_prediction_counts_as_wrong_and_is_told(squad_files, answers):
    found = score_files(squad_files["v2.0"], answers)
    assert (found.scores["exact"], found.scores["total"]) == (60.0, 5)
    assert found.notes == ("1 of 5 questions have no prediction and count as wrong.",)


def test_null_odds_add_the_best_thresholds_and_the_table_shows_them(squad_files, answers, tmp_path):
    odds = tmp_path / "odds.json"
    odds.write_text(json.dumps({"length": -1.0, "bridge": -1.0, "tea": 2.0, "price": 3.0, "arms": 0.0}))
    scores = score_files(squad_files["v2.0"], answers, null_odds=odds, null_threshold=0.0).scores
    table = official_table(scores)
    assert [row[0] for row in table.rows] == ["all", "answerable", "unanswerable"]
    assert any("at null threshold" in note for note in table.notes)
    assert official_table({"exact": 1.0, "f1": 2.0, "total": 3}).rows == (("all", 3, "1.00", "2.00"),)


def test_a_file_that_is_no_json_object_is_named(squad_files, tmp_path):
    path = tmp_path / "list.json"
    path.write_text("[1]")
    with pytest.raises(DataError, match=r"list\.json"):
        score_files(squad_files["v2.0"], path)


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
    data = read_questions(folder / "KorQuAD_v1.0_dev.json.xz", purpose="score")
    predictions = read_predictions(folder / "dev-evaluate-in1.json.xz")
    scores = score(data, predictions)
    assert (scores["exact"], scores["f1"], scores["total"]) == (100.0, 100.0, 5774)
