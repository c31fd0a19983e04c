"""The official scores: exact match and F1, equal to the published scripts to the last digit; files of predictions
scored so, and the table that people read.

| metric | before comparing | F1 counts |
|---|---|---|
| squad | lower case; no ASCII punctuation, English articles or surplus blanks | words |
| korquad | marks around names become blanks; lower case; no ASCII punctuation | characters that are no blanks |

MRQA's script compares as SQuAD 1.1's does.

Source: Rajpurkar et al. 2016 and 2018 (SQuAD 1.1 and 2.0), evaluate-v1.1.py and evaluate-v2.0.py; Lim et al. 2019
(KorQuAD 1.0), evaluate-v1.0.py; MRQA's script (metrics.py).
Differs: evaluate-v2.0.py stops with an error where a prediction is missing; here it counts as wrong, as in 1.1.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from spanwise.errors import DataError
from spanwise.tasks.base import FileScores, Score, Scores, ScoreTable, group_in, missing_note, number_in, shown
from spanwise.tasks.qa.data import SquadData
from spanwise.tasks.qa.reader import read_null_odds, read_predictions, read_questions

MetricName = Literal["squad", "korquad"]
_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_NO_PUNCTUATION = {ord(character): None for character in string.punctuation}
_KOREAN_BLANKS = {ord(character): " " for character in "'\"《》<>〈〉()‘’"}


def normalize_answer(text: str) -> str:
    """Lower-case, without ASCII punctuation, English articles and surplus white space."""
    bare = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def normalize_korean(text: str) -> str:
    """Lower-case, without ASCII punctuation and surplus white space; marks around names and titles become blanks."""
    return " ".join(text.translate(_KOREAN_BLANKS).lower().translate(_NO_PUNCTUATION).split())


def characters(text: str) -> list[str]:
    """All but the blanks."""
    return list("".join(text.split()))


@dataclass(frozen=True)
class Metric:
    """`normalize` what is compared, `units` what F1 counts."""

    name: MetricName
    title: str  # of its F1
    normalize: Callable[[str], str]
    units: Callable[[str], list[str]]

    def exact(self, gold: str, guess: str) -> int:
        """1 where both read alike; both are normalised."""
        return int(gold == guess)

    def f1(self, gold: str, guess: str, *, empty_may_match: bool) -> float:
        """Return the F1 of two normalised texts. Only the 2.0 script knows an empty answer."""
        return units_f1(self.units(gold), self.units(guess), empty_may_match)


def units_f1(gold: Sequence[str], guess: Sequence[str], empty_may_match: bool) -> float:
    """Harmonic mean of precision and recall over the units that both have."""
    if not gold or not guess:
        return float(empty_may_match and gold == guess)
    num_same = sum((Counter(gold) & Counter(guess)).values())
    if num_same == 0:
        return 0
    precision = 1.0 * num_same / len(guess)
    recall = 1.0 * num_same / len(gold)
    return (2 * precision * recall) / (precision + recall)


METRICS: dict[str, Metric] = {
    "squad": Metric("squad", "F1", normalize_answer, str.split),
    "korquad": Metric("korquad", "F1 of characters", normalize_korean, characters),
}


def metric_for(version: str, name: str | None = None) -> Metric:
    """The metric `name`, or the one of the data set that a file calls itself."""
    return METRICS[name or ("korquad" if version.lower().startswith("korquad") else "squad")]


@dataclass(frozen=True, kw_only=True)
class RawScores:
    """Exact match (0 or 1) and F1 (0 to 1) of every question that has a prediction, in the order of the data."""

    exact: dict[str, float]
    f1: dict[str, float]


def raw_scores(data: SquadData, predictions: Mapping[str, str], metric: Metric | None = None) -> RawScores:
    """Best score of each prediction over the gold answers of its question; missing predictions are left out.

    metric: None is that of the data set that the file calls itself (KorQuAD's by characters, else SQuAD's).

    Gold answers that are empty after normalisation are ignored in data with unanswerable questions (the 2.0 script)
    and kept otherwise (the 1.1 script).
    """
    metric = metric or metric_for(data.version)
    exact: dict[str, float] = {}
    f1: dict[str, float] = {}
    for question in data.questions:
        predicted = predictions.get(question.id)
        if predicted is None:
            continue
        golds = [metric.normalize(answer.text) for answer in question.answers]
        if data.has_unanswerable:
            golds = [gold for gold in golds if gold] or [""]
        guess = metric.normalize(predicted)
        exact[question.id] = max(metric.exact(gold, guess) for gold in golds)
        f1[question.id] = max(metric.f1(gold, guess, empty_may_match=data.has_unanswerable) for gold in golds)
    return RawScores(exact=exact, f1=f1)


def missing_predictions(data: SquadData, predictions: Mapping[str, str]) -> list[str]:
    """Ids of the questions that have no prediction."""
    return [question.id for question in data.questions if question.id not in predictions]


def score(
    data: SquadData,
    predictions: Mapping[str, str],
    *,
    null_odds: Mapping[str, float] | None = None,
    null_threshold: float = 1.0,
    metric: Metric | None = None,
) -> dict[str, float | int]:
    """The official keys, from 0 to 100: `exact`, `f1`, `total`, `HasAns_*`, `NoAns_*` and, with `null_odds`, `best_*`.

    `null_odds` gives each question a number that grows with the belief that it has no answer (the official
    `--na-prob-file`); above `null_threshold` (the official 1.0 unless given) the prediction counts as "no answer".

    Raises: DataError where `null_odds` lacks a question that has a prediction, or no prediction fits the data.
    """
    raw = raw_scores(data, predictions, metric)
    if data.questions and not raw.exact:
        raise DataError(
            f"none of the {len(predictions)} predictions belongs to a question of {data.source}; "
            f"its first question id is {data.questions[0].id!r}. Check that both files are of the same data set."
        )
    exact, f1 = raw.exact, raw.f1
    answerable = {question.id: bool(question.answers) for question in data.questions}
    if null_odds is not None:
        unknown = next((id for id in exact if id not in null_odds), None)
        if unknown is not None:
            raise DataError(
                f"the null odds have no number for question {unknown!r}; every predicted question needs one."
            )
        exact = _apply_threshold(exact, null_odds, answerable, null_threshold)
        f1 = _apply_threshold(f1, null_odds, answerable, null_threshold)

    scores: dict[str, float | int] = _summary(exact, f1, answerable)
    for prefix, wanted in (("HasAns", True), ("NoAns", False)):
        ids = [id for id, has_answer in answerable.items() if has_answer is wanted]
        if ids:
            scores |= {f"{prefix}_{key}": value for key, value in _summary(exact, f1, ids).items()}
    if null_odds is not None:
        for name, per_question in (("exact", raw.exact), ("f1", raw.f1)):
            best, threshold = best_threshold(per_question, predictions, null_odds, answerable)
            scores[f"best_{name}"], scores[f"best_{name}_thresh"] = best, threshold
    return scores


def best_threshold(
    scores: Mapping[str, float],
    predictions: Mapping[str, str],
    null_odds: Mapping[str, float],
    answerable: Mapping[str, bool],
) -> tuple[float, float]:
    """The threshold on the null odds with the best mean score, and that mean (0 to 100).

    Starts from "nothing is answerable" and admits one question after another in the order of their odds; an odds
    value is admitted with all before it. Ties keep the order of `null_odds`, as in the official script.
    """
    current = best = float(sum(not has_answer for has_answer in answerable.values()))
    threshold = 0.0
    for id in sorted(null_odds, key=lambda id: null_odds[id]):
        if id not in scores:
            continue
        if answerable[id]:
            current += scores[id]
        elif predictions[id]:
            current -= 1
        if current > best:
            best, threshold = current, null_odds[id]
    return 100.0 * best / max(1, len(scores)), threshold


def threshold_to_keep(
    scores: Mapping[str, float],
    predictions: Mapping[str, str],
    null_odds: Mapping[str, float],
    answerable: Mapping[str, bool],
) -> float:
    """The threshold of best mean score once it is applied: below it answers are told.

    Differs: it lies halfway to the next odds, so that no question stands on it, where rounding (another precision or
    machine) would decide. The official search says 0 where telling no answer at all is best, which holds for
    probabilities but not for odds below 0, and it may stop between equal odds, which no threshold parts.
    """
    admitted: dict[float, float] = {}
    for id, value in scores.items():
        gain = value if answerable[id] else -float(bool(predictions[id]))
        admitted[null_odds[id]] = admitted.get(null_odds[id], 0.0) + gain
    if not admitted:
        return 0.0
    places = sorted(admitted)
    current, best, threshold = 0.0, 0.0, math.nextafter(places[0], -math.inf)
    for odds, following in zip(places, [*places[1:], places[-1]], strict=True):
        current += admitted[odds]
        if current > best:
            best, threshold = current, (odds + following) / 2
    return threshold


def _apply_threshold(
    scores: Mapping[str, float], null_odds: Mapping[str, float], answerable: Mapping[str, bool], threshold: float
) -> dict[str, float]:
    return {id: float(not answerable[id]) if null_odds[id] > threshold else value for id, value in scores.items()}


def _summary(exact: Mapping[str, float], f1: Mapping[str, float], ids: Iterable[str]) -> dict[str, float | int]:
    ids = list(ids)
    total = max(1, len(ids))
    return {
        "exact": 100.0 * _plain_sum(exact.get(id, 0) for id in ids) / total,
        "f1": 100.0 * _plain_sum(f1.get(id, 0) for id in ids) / total,
        "total": len(ids),
    }


def _plain_sum(values: Iterable[float]) -> float:
    """Left to right: from Python 3.12 on `sum` compensates rounding, and the published numbers do not."""
    total = 0.0
    for value in values:
        total += value
    return total


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
