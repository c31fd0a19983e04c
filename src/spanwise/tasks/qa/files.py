"""Files of predictions scored as the official script does, and the table that people read."""

from __future__ import annotations

from pathlib import Path

from spanwise.tasks.base import FileScores, Score, Scores, ScoreTable, group_in, missing_note, number_in, shown
from spanwise.tasks.qa.metrics import METRICS, Metric, metric_for
from spanwise.tasks.qa.reader import read_null_odds, read_predictions, read_questions
from spanwise.tasks.qa.score import missing_predictions, score

_GROUPS = (("", "all"), ("HasAns_", "answerable"), ("NoAns_", "unanswerable"))


def score_files(
    data: Path,
    predictions: Path,
    *,
    null_odds: Path | None = None,
    null_threshold: float = 1.0,
    metric: str | None = None,
) -> FileScores:
    """Score a JSON object of question id to answer text; a missing prediction counts as wrong.

    null_odds: a JSON object of question id to a number that grows with the belief in "no answer"; adds the best
    thresholds. Null odds above `null_threshold` count as "no answer". metric: None is that of the data set.

    Raises: DataError naming the file.
    """
    gold = read_questions(data, purpose="score")
    answers = read_predictions(predictions)
    odds = None if null_odds is None else read_null_odds(null_odds)
    chosen = metric_for(gold.version, metric)
    num_missing = len(missing_predictions(gold, answers))
    notes = missing_note(num_missing, len(gold.questions), "questions have no prediction and count as wrong.")
    found = score(gold, answers, null_odds=odds, null_threshold=null_threshold, metric=chosen)
    return FileScores(scores={**found, **metric_record(chosen)}, notes=notes)


def metric_record(metric: Metric) -> dict[str, Score]:
    """Return what scores say of the metric, where it is not SQuAD's."""
    return {} if metric.name == "squad" else {"metric": {"name": metric.name, "f1_counts": "characters"}}


def official_table(scores: Scores) -> ScoreTable:
    """Return a row for all, answerable and unanswerable questions.

    Below it stand what the vocabulary can reach and how far confidence can be trusted, where they were measured.
    """
    rows = tuple(
        (words, scores[f"{prefix}total"], shown(scores, f"{prefix}exact"), shown(scores, f"{prefix}f1"))
        for prefix, words in _GROUPS
        if f"{prefix}exact" in scores
    )
    notes = tuple(
        f"best {words} {shown(scores, f'best_{name}')} at null threshold {shown(scores, f'best_{name}_thresh', '.4g')}"
        for name, words in (("exact", "exact match"), ("f1", "F1"))
        if f"best_{name}" in scores
    )
    title = METRICS[str(group_in(scores, "metric")["name"])].title if "metric" in scores else "F1"
    return ScoreTable(
        columns=("questions", "number", "exact match", title), rows=rows, notes=(*notes, *_notes_on(scores))
    )


def _notes_on(scores: Scores) -> tuple[str, ...]:
    notes = []
    if "reach" in scores:
        reach = group_in(scores, "reach")
        notes.append(
            f"{shown(reach, 'off_borders', '.1f')} % of the answers do not begin and end where pieces do; exact "
            f"match cannot pass {shown(reach, 'exact_ceiling', '.1f')} with this vocabulary"
        )
    if "calibration" in scores:
        found = group_in(scores, "calibration")
        temperature = number_in(found, "temperature")  # always above 0 where it is fitted
        how = f"temperature {temperature:.3g}" if temperature else "not calibrated"
        notes.append(
            f"mean probability of the reported answers {shown(found, 'confidence', '.1f')} ({how}), expected "
            f"calibration error {shown(found, 'error', '.1f')}"
        )
    return tuple(notes)
