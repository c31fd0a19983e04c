"""From start and end logits to answers: n-best spans over all windows of a question, and the odds of "no answer".

Letters: n tokens of the passage in a window, K candidates.
Source: Devlin et al. 2018 (BERT), the SQuAD 2.0 code.
Differs: only passage tokens in their window of most context compete for the top places (the original takes the top 20
of all positions first and filters afterwards), so there is always a span where the passage has a token;
texts are cut from the passage by character offsets instead of being aligned with detokenised pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from spanwise.tasks.qa.data import SquadData
from spanwise.tasks.qa.features import QuestionWindows
from spanwise.tasks.qa.outputs import WindowOutput
from spanwise.tasks.qa.ranking import Ranking, SpanAnswer, question_spans
from spanwise.tasks.qa.reach import Reach


@dataclass(frozen=True, slots=True)
class WindowsRead:
    """How much of one question was read."""

    num_windows: int
    num_dropped_tokens: int  # of the question; the passage is always read whole


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
    scores: Sequence[WindowOutput],
    *,
    max_answer_tokens: int = 30,
    num_best: int = 20,
) -> Predictions:
    """Join the windows of each question. `scores` has one entry per window, in window order: an array [length, 2] of
    start and end logits, or what a head of another form says."""
    nbest: dict[str, tuple[SpanAnswer, ...]] = {}
    null_odds: dict[str, float] = {}
    read: dict[str, WindowsRead] = {}
    borders = np.searchsorted(windows.question_W, np.arange(len(data.questions) + 1))
    for number, question in enumerate(data.questions):
        rows = range(borders[number], borders[number + 1])
        if not rows:
            continue
        ranking = Ranking(num_best)
        spans = question_spans(windows, rows, scores, max_answer_tokens)
        ranking.add(spans, windows.passage(rows[0]), data.context_of(question))
        nbest[question.id], null_odds[question.id] = ranking.answers(), ranking.null_odds
        read[question.id] = WindowsRead(len(rows), int(windows.num_dropped_Q[number]))
    return Predictions(nbest=nbest, null_odds=null_odds, windows=read, reach=windows.reach)
