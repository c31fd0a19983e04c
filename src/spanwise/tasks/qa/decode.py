"""From start and end logits to answers: n-best spans over all windows of a question, and the odds of "no answer".

Letters: n tokens of the passage in a window, K candidates.
Source: Devlin et al. 2018 (BERT), the SQuAD 2.0 code; FAMILY section 5.1.
Differs: only passage tokens in their window of most context compete for the top places (the original takes the top 20
of all positions first and filters afterwards), so there is always a span where the passage has a token (7C-4, 7C-6);
texts are cut from the passage by character offsets instead of being aligned with detokenised pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spanwise.tasks.qa.data import SquadData
from spanwise.tasks.qa.features import QuestionWindows
from spanwise.tasks.qa.outputs import WindowScores
from spanwise.tasks.qa.reach import Reach
from spanwise.tasks.windows import max_context_window

TOP_POSITIONS = 20  # starts and ends of a window that are combined


@dataclass(frozen=True, slots=True)
class WindowsRead:
    """How much of one question was read."""

    num_windows: int
    num_dropped_tokens: int  # of the question; the passage is always read whole


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
    """Best span, n-best spans and null odds of every question; thresholds are applied afterwards.

    Null odds are the null score minus the best span's score, or a classifier's log-odds: above the threshold they mean
    "no answer". `windows` is how many windows of each question were read, and how many of its tokens were not.
    """

    nbest: dict[str, tuple[SpanAnswer, ...]]
    null_odds: dict[str, float]
    windows: dict[str, WindowsRead] = field(default_factory=dict)
    reach: Reach | None = None  # what the vocabulary can point at, where the data has answers

    def best(self) -> dict[str, str]:
        """The best non-null text of each question; empty only where the passage has no token."""
        return {id: answers[0].text if answers else "" for id, answers in self.nbest.items()}

    def answers(self, null_threshold: float | None) -> dict[str, str]:
        """The texts to report: empty where the null odds are above the threshold; None never abstains."""
        best = self.best()
        if null_threshold is None:
            return best
        return {id: "" if self.null_odds[id] > null_threshold else text for id, text in best.items()}


def decode(
    data: SquadData,
    windows: QuestionWindows,
    scores: Sequence[np.ndarray | WindowScores],
    *,
    max_answer_tokens: int = 30,
    num_best: int = 20,
) -> Predictions:
    """Join the windows of each question. `scores` has one entry a window, in window order: an array [length, 2] of
    start and end logits, or what a head of another form says."""
    nbest: dict[str, tuple[SpanAnswer, ...]] = {}
    null_odds: dict[str, float] = {}
    read: dict[str, WindowsRead] = {}
    borders = np.searchsorted(windows.question_W, np.arange(len(data.questions) + 1))
    for number, question in enumerate(data.questions):
        rows = range(borders[number], borders[number + 1])
        if not rows:
            continue
        spans = question_spans(windows, rows, scores, max_answer_tokens)
        answers = _nbest(spans.spans_K3, windows.passage(rows[0]).offsets, data.context_of(question), num_best)
        nbest[question.id] = answers
        null_odds[question.id] = spans.null_odds(answers[0].score if answers else None)
        read[question.id] = WindowsRead(len(rows), int(windows.num_dropped_Q[number]))
    return Predictions(nbest=nbest, null_odds=null_odds, windows=read, reach=windows.reach)


@dataclass(frozen=True, slots=True)
class QuestionSpans:
    """Candidates [K, 3] of one question on one passage: first token, last token (of the passage, both inside), score;
    and what its windows say of "no answer", the least of all windows."""

    spans_K3: np.ndarray
    null_score: float
    impossible: float | None

    def null_odds(self, best: float | None) -> float:
        """The odds beside the best span's score. With no span at all the text is empty anyway; as in the original code
        its two logits then count as 0."""
        return self.impossible if self.impossible is not None else self.null_score - (best or 0.0)


def question_spans(
    windows: QuestionWindows, rows: range, scores: Sequence[np.ndarray | WindowScores], max_answer_tokens: int
) -> QuestionSpans:
    """The candidates of one question from its windows `rows`."""
    ranges = np.stack([windows.first_W[rows.start : rows.stop], windows.last_W[rows.start : rows.stop]], axis=1)
    best_window_n = max_context_window(ranges, len(windows.passage(rows[0]).ids))
    found, others = [], []
    null_score = impossible = np.inf
    for place, row in enumerate(rows):
        said = WindowScores.of(scores[row])
        null_score = min(null_score, said.null_score)
        impossible = min(impossible, np.inf if said.impossible is None else said.impossible)
        first, last, start = windows.first_W[row], windows.last_W[row], windows.passage_start(row)
        may_start_n = best_window_n[first:last] == place
        shift = np.array([first, first, 0])
        if said.starts_B is None:
            inside_n2 = np.asarray(said.logits_L2, dtype=np.float64)[start : start + last - first]
            found.append(_candidates(inside_n2, may_start_n, max_answer_tokens) + shift)
        else:
            spans, is_best = _joint_candidates(said, start, may_start_n, max_answer_tokens)
            found.append(spans[is_best] + shift)
            others.append(spans[~is_best] + shift)
    spans_K3 = np.concatenate(found)
    if not len(spans_K3) and others:  # no start of any beam lies in its window of most context
        spans_K3 = np.concatenate(others)
    return QuestionSpans(spans_K3, null_score, float(impossible) if np.isfinite(impossible) else None)


def _joint_candidates(
    said: WindowScores, passage_start: int, may_start_n: np.ndarray, max_answer_tokens: int
) -> tuple[np.ndarray, np.ndarray]:
    """Spans [K, 3] of one window of the joint form, and whether each starts in its window of most context."""
    assert said.starts_B is not None and said.ends_BL is not None
    num_tokens = len(may_start_n)
    spans, is_best = [], []
    for place, ends_L in zip(said.starts_B.tolist(), said.ends_BL, strict=True):
        first = place - passage_start
        reach = min(max_answer_tokens, num_tokens - first)
        values = float(said.logits_L2[place, 0]) + ends_L[place : place + reach].astype(np.float64)
        lasts = first + np.arange(reach)
        spans.append(np.stack([np.full(reach, first), lasts, values], axis=1))
        is_best.append(np.full(reach, may_start_n[first]))
    if not spans:
        return np.zeros((0, 3)), np.zeros(0, dtype=bool)
    return np.concatenate(spans), np.concatenate(is_best)


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
