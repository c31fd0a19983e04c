"""`spanwise score qa`."""

import json
from pathlib import Path

import pytest

from spanwise.cli.main import main


@pytest.fixture
def files(tmp_path) -> tuple[Path, Path]:
    """A SQuAD 2.0 file of four questions, one unanswerable, and predictions for three of them."""
    context = "Denver beat Carolina 24 to 10 in February 2016."
    questions = [("q1", "Who won?", "Denver"), ("q2", "Whom?", "Carolina"), ("q3", "When?", "February 2016")]
    entries = [
        {"id": i, "question": q, "is_impossible": False, "answers": [{"text": a, "answer_start": context.index(a)}]}
        for i, q, a in questions
    ]
    entries.append({"id": "q4", "question": "Why?", "is_impossible": True, "answers": []})
    data = {"version": "v2.0", "data": [{"title": "T", "paragraphs": [{"context": context, "qas": entries}]}]}
    gold, predicted = tmp_path / "gold.json", tmp_path / "predicted.json"
    gold.write_text(json.dumps(data))
    predicted.write_text(json.dumps({"q1": "the Denver", "q2": "Denver", "q4": ""}))
    return gold, predicted


def score(*arguments) -> int:
    return main(["score", "qa", *map(str, arguments)])


def test_scores_carry_the_official_keys_at_full_precision(files, capsys):
    gold, predicted = files
    assert score("--data", gold, "--predictions", predicted, "--json") == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["exact"] == pytest.approx(50.0)  # q1 and q4 right, q2 wrong, q3 missing
    assert scores["HasAns_f1"] == 100 / 3
    assert (scores["total"], scores["HasAns_total"], scores["NoAns_total"]) == (4, 3, 1)


def test_a_person_is_told_of_missing_predictions(files, capsys):
    gold, predicted = files
    assert score("--data", gold, "--predictions", predicted) == 0
    printed = capsys.readouterr().out
    assert "50.00" in printed and "1 of 4 questions have no prediction" in printed


def test_null_odds_add_the_best_thresholds(files, tmp_path, capsys):
    gold, predicted = files
    odds = tmp_path / "odds.json"
    odds.write_text(json.dumps({"q1": 0.1, "q2": 0.2, "q4": 0.9}))
    assert score("--data", gold, "--predictions", predicted, "--na-prob-file", odds, "--json") == 0
    assert "best_f1_thresh" in json.loads(capsys.readouterr().out)


def test_a_missing_file_is_named(files, capsys):
    gold, _ = files
    assert score("--data", gold, "--predictions", "nowhere.json") == 3
    assert "nowhere.json" in capsys.readouterr().err


def test_a_task_that_does_not_exist_is_wrong_use(files, capsys):
    gold, predicted = files
    assert main(["score", "poetry", "--data", str(gold), "--predictions", str(predicted)]) == 2
    assert "qa" in capsys.readouterr().err


def test_coreference_has_every_metric_with_recall_precision_and_f1(tmp_path, capsys):
    files = []
    for name, marks in (("key", ["(1)", "(1)", "(2)", "(2)"]), ("said", ["(1)", "(1)", "-", "-"])):
        lines = [f"a\t0\t{k}\tw{k}\t-\t{mark}" for k, mark in enumerate(marks)]
        path = tmp_path / f"{name}.conll"
        path.write_text("\n".join(["#begin document (a); part 000", *lines, "#end document"]) + "\n")
        files.append(str(path))
    arguments = ["score", "coref", "--data", files[0], "--predictions", files[1]]
    assert main([*arguments, "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    for metric in ("muc", "b_cubed", "ceaf_m", "ceaf_e", "lea", "blanc"):
        assert scores[metric].keys() == {"recall", "precision", "f1"}
    assert scores["muc"] == {"recall": 50.0, "precision": 100.0, "f1": pytest.approx(200 / 3)}
    assert scores["conll_f1"] == pytest.approx(200 / 3)
    assert main(arguments) == 0
    assert "mean F1 of MUC, B-cubed and CEAF-e 66.67" in capsys.readouterr().out
    assert main([*arguments, "--null-threshold", "1"]) == 2
    assert "no use for --null-threshold" in capsys.readouterr().err


def test_columns_that_fine_tuning_was_told_are_told_again(tmp_path, capsys):
    gold, told = tmp_path / "gold.csv", tmp_path / "told.tsv"
    gold.write_text("Review,Stars\nfine,5\nbad,1\n")
    told.write_text("index\tprediction\n0\t5\n1\t5\n")
    options = ["--set", "task.text=Review", "--set", "task.label=Stars", "--json"]
    assert main(["score", "classification", "--data", str(gold), "--predictions", str(told), *options]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == 50.0
