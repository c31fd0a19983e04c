"""Files of predictions scored as the official script does, and the table that people read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spanwise.tasks.base import FileScores, ScoreTable
from spanwise.tasks.qa.reader import read_null_odds, read_predictions, read_squad
from spanwise.tasks.qa.score import missing_predictions, score

_GROUPS = (("", "all"), ("HasAns_", "answerable"), ("NoAns_", "unanswerable"))


def score_files(
    data: Path, predictions: Path, *, null_odds: Path | None = None, null_threshold: float = 1.0
) -> FileScores:
    """Score a JSON object of question id to answer text; a missing prediction counts as wrong.

    null_odds: a JSON object of question id to a number that grows with the belief in "no answer"; adds the best
    thresholds. Null odds above `null_threshold` count as "no answer".

    Raises: DataError naming the file.
    """
    gold = read_squad(data, purpose="score")
    answers = read_predictions(predictions)
    odds = None if null_odds is None else read_null_odds(null_odds)
    num_missing = len(missing_predictions(gold, answers))
    note = f"{num_missing:,} of {len(gold.questions):,} questions have no prediction and count as wrong."
    return FileScores(
        scores=score(gold, answers, null_odds=odds, null_threshold=null_threshold),
        notes=(note,) if num_missing else (),
    )


def official_table(scores: Mapping[str, Any]) -> ScoreTable:
    """The official keys with a row for all, answerable and unanswerable questions."""
    rows = tuple(
        (words, scores[f"{prefix}total"], f"{scores[f'{prefix}exact']:.2f}", f"{scores[f'{prefix}f1']:.2f}")
        for prefix, words in _GROUPS
        if f"{prefix}exact" in scores
    )
    notes = tuple(
        f"best {words} {scores[f'best_{name}']:.2f} at null threshold {scores[f'best_{name}_thresh']:.4g}"
        for name, words in (("exact", "exact match"), ("f1", "F1"))
        if f"best_{name}" in scores
    )
    return ScoreTable(columns=("questions", "number", "exact match", "F1"), rows=rows, notes=notes)
