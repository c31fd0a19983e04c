"""Scores are those that the official scorers print for their own examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spanwise.errors import DataError
from spanwise.tasks.relation.score import micro_scores, semeval_scores

# the example of SemEval-2010 Task 8's scorer (CC BY 3.0): 40 keys in order, 30 answers by number
KEY = (
    "CW21 O IA21 O MC12 O CE21 ED12 CC12 ED12 MC12 O MT12 CE21 IA21 MT12 IA21 PP21 CW21 MC21 EO12 MC21 "
    "CE12 O MC21 O CE12 MT12 MT12 CW12 MT21 CE21 PP12 ED12 CW12 EO12 O CW21 CE12 IA21 "
)
CASES = (
    "10:ED12 11:MC12 12:O 13:MT12 14:CE21 15:IA21 16:MT12 20:MC21 1:O 2:IA21 3:O 4:O 5:O 6:O 7:O 8:ED12 "
    "9:CC12 21:EO12 24:MC21 17:IA21 18:PP21 19:CW12 23:CE12 22:O 25:MC21 26:O 27:CE21 28:MT21 29:MT12 "
    "30:CW12 "
)
NAMES = {
    "CW": "Component-Whole", "IA": "Instrument-Agency", "MC": "Member-Collection", "CE": "Cause-Effect",
    "ED": "Entity-Destination", "CC": "Content-Container", "MT": "Message-Topic", "PP": "Product-Producer",
    "EO": "Entity-Origin",
}  # fmt: skip


def label(short: str) -> str:
    return "Other" if short == "O" else f"{NAMES[short[:2]]}(e{short[2]},e{short[3]})"


def test_the_wrong_direction_is_wrong_and_found_and_missing_answers_are_not_found():
    gold = {"1": label("CE12"), "2": label("CE21"), "3": label("MT12"), "4": "Other", "5": label("MT12")}
    found = semeval_scores(gold, {"1": label("CE12"), "2": label("CE12"), "3": "Other", "4": label("MT21")})

    # Cause-Effect: 1 right of 2 found and 2 wanted; Message-Topic: 0 of 1 found and 2 wanted
    assert found["macro_precision"] == pytest.approx(25.0)
    assert found["macro_recall"] == pytest.approx(25.0)
    assert found["macro_f1"] == pytest.approx(25.0)
    assert found["micro_f1"] == pytest.approx(100 * 2 * (1 / 3) * (1 / 4) / (1 / 3 + 1 / 4))
    assert found["accuracy"] == pytest.approx(20.0)
    assert found["coverage"] == pytest.approx(80.0)


def test_the_example_of_the_official_scorer_has_its_printed_score():
    gold = {str(i): label(short) for i, short in enumerate(KEY.split(), 1)}
    answers = {number: label(short) for number, short in (item.split(":") for item in CASES.split())}

    found = semeval_scores(gold, answers)

    assert round(found["macro_precision"], 2) == 81.48
    assert round(found["macro_recall"], 2) == 54.44
    assert round(found["macro_f1"], 2) == 64.09
    assert round(found["micro_f1"], 2) == 59.26
    assert round(found["accuracy"], 2) == 50.00
    assert round(found["coverage"], 2) == 75.00


def test_perfect_answers_score_a_hundred():
    gold = {str(i): label(short) for i, short in enumerate(KEY.split())}

    assert set(semeval_scores(gold, gold).values()) == {100.0}


def test_answers_to_other_examples_are_refused():
    with pytest.raises(DataError, match="another file"):
        semeval_scores({"1": "Other"}, {"2": "Other"})


@pytest.mark.slow
@pytest.mark.parametrize("case", [1, 2])
def test_the_official_scorers_own_cases(data_folder, case):
    folder = Path(data_folder) / "re/semeval2010_task8/official_scorer_cases"

    def read(name: str) -> dict[str, str]:
        return dict(line.split() for line in (folder / name).read_text().splitlines() if line.strip())

    printed = (folder / f"result_scores{case}.txt").read_text()
    official = printed[printed.index("TAKING DIRECTIONALITY INTO ACCOUNT -- OFFICIAL") :]
    expected = re.search(r"MACRO.*\nP =\s*([\d.]+)%\s+R =\s*([\d.]+)%\s+F1 =\s*([\d.]+)%", official).groups()

    found = semeval_scores(read(f"answer_key{case}.txt"), read(f"proposed_answer{case}.txt"))

    names = ("macro_precision", "macro_recall", "macro_f1")
    assert [round(found[name], 2) for name in names] == pytest.approx([float(value) for value in expected], abs=0.011)


def test_micro_f1_leaves_the_negative_label_out():
    gold = ["a", "b", "no_relation", "a", "no_relation", "c"]
    predicted = ["a", "a", "b", "no_relation", "no_relation", "c"]

    found = micro_scores(gold, predicted)

    # right: a, c; found: a, a, b, c; wanted: a, b, a, c
    assert found["precision"] == pytest.approx(50.0)
    assert found["recall"] == pytest.approx(50.0)
    assert found["f1"] == pytest.approx(50.0)
    assert found["accuracy"] == pytest.approx(50.0)


def test_nothing_found_has_precision_100_and_f1_0_as_in_the_official_scorer():
    found = micro_scores(["a", "no_relation"], ["no_relation", "no_relation"])

    assert (found["precision"], found["recall"], found["f1"]) == (100.0, 0.0, 0.0)


def test_lists_of_different_length_are_refused():
    with pytest.raises(DataError, match="one for each"):
        micro_scores(["a"], [])
