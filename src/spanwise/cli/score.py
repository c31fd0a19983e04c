"""`spanwise score`: the official metrics of a file of predictions, alone."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from spanwise.cli.console import print_json, print_table


def score(
    task: str,
    /,
    *,
    data: Path,
    predictions: Path,
    null_odds: Annotated[Path | None, Parameter(name=["--null-odds", "--na-prob-file"])] = None,
    null_threshold: Annotated[float, Parameter(name=["--null-threshold", "--na-prob-thresh"])] = 1.0,
    json: bool = False,
) -> None:
    """Score predictions as the task's official script does; a missing prediction counts as wrong.

    Parameters
    ----------
    task
        The task: qa.
    data
        Labelled data: a SQuAD 1.1 or 2.0 file.
    predictions
        JSON object of question id to answer text; empty text means "no answer".
    null_odds
        JSON object of question id to a number that grows with the belief in "no answer"; adds the best thresholds.
    null_threshold
        Null odds above this number count as "no answer".
    json
        Print one JSON object with the official script's keys, at full precision.
    """
    from spanwise.tasks.base import task_recipe
    from spanwise.tasks.qa.reader import read_null_odds, read_predictions, read_squad
    from spanwise.tasks.qa.score import missing_predictions
    from spanwise.tasks.qa.score import score as official_scores

    task_recipe(task)  # names the tasks there are, where this is none
    gold = read_squad(data, purpose="score")
    answers = read_predictions(predictions)
    odds = None if null_odds is None else read_null_odds(null_odds)
    scores = official_scores(gold, answers, null_odds=odds, null_threshold=null_threshold)
    if json:
        print_json(scores)
        return
    print_scores(scores)
    num_missing = len(missing_predictions(gold, answers))
    if num_missing:
        print(f"{num_missing:,} of {len(gold.questions):,} questions have no prediction and count as wrong.")


def print_scores(scores: dict[str, float | int]) -> None:
    """Print the official keys as a table with a row for all, answerable and unanswerable questions."""
    rows = []
    for prefix, words in (("", "all"), ("HasAns_", "answerable"), ("NoAns_", "unanswerable")):
        if f"{prefix}exact" in scores:
            exact, f1 = scores[f"{prefix}exact"], scores[f"{prefix}f1"]
            rows.append([words, scores[f"{prefix}total"], f"{exact:.2f}", f"{f1:.2f}"])
    print_table(["questions", "number", "exact match", "F1"], rows)
    for name, words in (("exact", "exact match"), ("f1", "F1")):
        if f"best_{name}" in scores:
            print(f"best {words} {scores[f'best_{name}']:.2f} at null threshold {scores[f'best_{name}_thresh']:.4g}")
