"""From start and end logits to answers: n-best spans over all windows of a question, and the odds of "no answer".

Letters: n tokens of the passage in a window, K candidates.
Source: Devlin et al. 2018 (BERT), the SQuAD 2.0 code; FAMILY section 5.1.
Differs: only passage tokens in their window of most context compete for the top places (the original takes the top 20
of all positions first and filters afterwards), so there is always a span where the passage has a token (7C-4, 7C-6);
texts are cut from the passage by character offsets instead of being aligned with detokenised pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spanwise.tasks.qa.features import QuestionWindows
from spanwise.tasks.qa.reader import SquadData
from spanwise.tasks.windows import max_context_window

TOP_POSITIONS = 20  # starts and ends of a window that are combined


@dataclass(frozen=True, slots=True)
class SpanAnswer:
    """One candidate: `context[start:end] == text`; probability among the n-best of its question."""

    text: str
    start: int
    end: int
    score: float  # start logit + end logit
    probability: float


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Best span, n-best spans and null odds of every question; thresholds are applied afterwards."""

    nbest: dict[str, tuple[SpanAnswer, ...]]
    null_odds: dict[str, float]  # null score minus the best span's score: above the threshold means "no answer"

    def best(self) -> dict[str, str]:
        """The best non-null text of each question; empty only where the passage has no token."""
        return {id: answers[0].text if answers else "" for id, answers in self.nbest.items()}

    def answers(self, null_threshold: float | None) -> dict[str, str]:
        """The texts to report: empty where the null odds are above the threshold; None never abstains."""
        best = self.best()
        if null_threshold is None:
            return best
        return {id: "" if self.null_odds[id] > null_threshold else text for id, text in best.items()}

    def records(self) -> dict[str, list[dict[str, Any]]]:
        """The n-best lists as JSON-able records."""
        keys = SpanAnswer.__slots__
        return {
            id: [{key: getattr(answer, key) for key in keys} for answer in found] for id, found in self.nbest.items()
        }


def decode(
    data: SquadData,
    windows: QuestionWindows,
    logits: Sequence[np.ndarray],
    *,
    max_answer_tokens: int = 30,
    num_best: int = 20,
) -> Predictions:
    """Join the windows of each question. `logits` has one array [length, 2] (start, end) a window, in window order."""
    nbest: dict[str, tuple[SpanAnswer, ...]] = {}
    null_odds: dict[str, float] = {}
    borders = np.searchsorted(windows.question_W, np.arange(len(data.questions) + 1))
    for number, question in enumerate(data.questions):
        rows = range(borders[number], borders[number + 1])
        if not rows:
            continue
        passage = windows.passage(rows[0])
        ranges = np.stack([windows.first_W[rows.start : rows.stop], windows.last_W[rows.start : rows.stop]], axis=1)
        best_window_n = max_context_window(ranges, len(passage.ids))
        found = []
        null_score = np.inf
        for place, row in enumerate(rows):
            scores_L2 = np.asarray(logits[row], dtype=np.float64)
            null_score = min(null_score, float(scores_L2[0].sum()))
            first, last, start = windows.first_W[row], windows.last_W[row], windows.passage_start(row)
            inside_n2 = scores_L2[start : start + last - first]
            may_start_n = best_window_n[first:last] == place
            found.append(_candidates(inside_n2, may_start_n, max_answer_tokens) + np.array([first, first, 0]))
        answers = _nbest(np.concatenate(found), passage.offsets, data.context_of(question), num_best)
        nbest[question.id] = answers
        # With no span at all the text is empty anyway; as in the original its two logits then count as 0.
        null_odds[question.id] = null_score - (answers[0].score if answers else 0.0)
    return Predictions(nbest=nbest, null_odds=null_odds)


def _candidates(scores_n2: np.ndarray, may_start_n: np.ndarray, max_answer_tokens: int) -> np.ndarray:
    """Spans [K, 3] of one window: first token, last token (both inside), score."""
    allowed = np.flatnonzero(may_start_n)
    if not len(allowed):
        return np.zeros((0, 3))
    starts = allowed[np.argsort(-scores_n2[allowed, 0], kind="stable")[:TOP_POSITIONS]]
    ends = np.argsort(-scores_n2[:, 1], kind="stable")[:TOP_POSITIONS]
    reach = ends[None, :] - starts[:, None]
    row, column = np.nonzero((reach >= 0) & (reach < max_answer_tokens))
    if len(row):
        starts, ends = starts[row], ends[column]
    else:  # no top end lies behind a top start: give each start the best end within its reach
        ends = np.array([s + int(scores_n2[s : s + max_answer_tokens, 1].argmax()) for s in starts])
    return np.stack([starts, ends, scores_n2[starts, 0] + scores_n2[ends, 1]], axis=1)


def _nbest(spans_K3: np.ndarray, offsets: Any, context: str, num_best: int) -> tuple[SpanAnswer, ...]:
    """The `num_best` spans of highest score with different texts."""
    kept: dict[str, tuple[int, int, float]] = {}
    for first, last, score in spans_K3[np.argsort(-spans_K3[:, 2], kind="stable")]:
        start, end = int(offsets[int(first)][0]), int(offsets[int(last)][1])
        kept.setdefault(context[start:end], (start, end, float(score)))
        if len(kept) == num_best:
            break
    if not kept:
        return ()
    weights = np.exp(np.array([score for _, _, score in kept.values()]) - next(iter(kept.values()))[2])
    shares = weights / weights.sum()
    return tuple(
        SpanAnswer(text, start, end, score, float(share))
        for (text, (start, end, score)), share in zip(kept.items(), shares, strict=True)
    )
