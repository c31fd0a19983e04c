"""The best answers to one question, over the windows of one passage or over any number of passages.

Passages compete by the scores of their spans, as windows of one passage do, and equal texts are one answer: the one of
the highest score. Where a reader was taught to find no answer, scores of several passages are counted from what it says
of "no answer" in each, because they have no common zero: it reads every passage by itself. What is kept does not grow
with the number of passages.

`scored_answers` gives the probabilities of the question-answering pipeline of transformers until version 5.2: a span's
score is the product of its start and end probability, each a softmax over the passage and [CLS] of one window. Spans
that read alike (whatever their case) count as one answer and their scores are added, over windows too.

Letters: n tokens of the passage in a window, K candidates, A longest answer in tokens.
Source: Clark and Gardner 2018, section 3 (one softmax over all passages of a question); Devlin et al. 2018 (BERT), the
SQuAD 2.0 code.
Differs: only passage tokens in their window of most context compete for the top places (the original takes the top 20
of all positions first and filters afterwards), so there is always a span where the passage has a token; texts are cut
from the passage by character offsets instead of being aligned with detokenised pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from spanwise.tasks.qa.data import SquadData
from spanwise.tasks.qa.features import QuestionWindows, Reach
from spanwise.tasks.qa.loss import WindowOutput, WindowScores
from spanwise.tasks.qa.span_rule import SpanRule
from spanwise.tasks.windows import max_context_window
from spanwise.text.tokenizers import Encoding

TOP_POSITIONS = 20  # starts and ends of a window that are combined


@dataclass(frozen=True, slots=True)
class SpanAnswer:
    """One candidate: `context[start:end] == text`, of passage number `document`; probability among the n-best of its
    question."""

    text: str
    start: int
    end: int
    score: float  # start logit + end logit, as the task's `SpanRule` counts them
    probability: float
    document: int = 0


class _Kept(NamedTuple):
    worth: float  # by which answers compete
    score: float
    start: int
    end: int
    document: int


@dataclass
class Ranking:
    """Collects the candidates of one question, passage after passage."""

    num_best: int = 20
    num_windows: int = 0
    _kept: dict[str, _Kept] = field(default_factory=dict)  # by text
    _null_score: float = np.inf
    _impossible: float = np.inf

    def add(
        self,
        spans: QuestionSpans,
        passage: Encoding,
        context: str,
        *,
        document: int = 0,
        align_to_words: bool = False,
        against_null: bool = False,
    ) -> None:
        """The candidates of one passage, whose text is `context`; with `align_to_words` they grow to whole words, with
        `against_null` their scores are counted from that of "no answer" in this passage."""
        self.num_windows += spans.num_windows
        zero = spans.null_score if against_null and np.isfinite(spans.null_score) else 0.0
        self._null_score = min(self._null_score, spans.null_score - zero)
        self._impossible = min(self._impossible, np.inf if spans.impossible is None else spans.impossible)
        found: dict[str, _Kept] = {}
        for first, last, score, worth in spans.spans_K4:
            start, end = characters_of(passage, int(first), int(last), align_to_words)
            entry = _Kept(float(worth) - zero, float(score) - zero, start, end, document)
            found.setdefault(context[start:end], entry)
            if len(found) == self.num_best:
                break
        for text, entry in found.items():
            if text not in self._kept or entry.worth > self._kept[text].worth:
                self._kept[text] = entry
        best = sorted(self._kept.items(), key=lambda item: -item[1].worth)  # stable: of equal ones the first found
        self._kept = dict(best[: self.num_best])

    def answers(self) -> tuple[SpanAnswer, ...]:
        """The n-best answers of different texts, best first; their probabilities are shares of the n-best."""
        if not self._kept:
            return ()
        scores = np.array([kept.score for kept in self._kept.values()])
        weights = np.exp(scores - scores.max())
        shares = weights / weights.sum()
        return tuple(
            SpanAnswer(text, kept.start, kept.end, kept.score, float(share), kept.document)
            for (text, kept), share in zip(self._kept.items(), shares, strict=True)
        )

    @property
    def null_odds(self) -> float:
        """The null score beside the best span's score, or a classifier's log-odds. With no span at all the text is
        empty anyway; as in the original code its two logits then count as 0."""
        if np.isfinite(self._impossible):
            return self._impossible
        best = next(iter(self._kept.values()), None)
        return self._null_score - (best.worth if best else 0.0)


def characters_of(passage: Encoding, first: int, last: int, align_to_words: bool) -> tuple[int, int]:
    """Half-open characters of the tokens `first` to `last`, grown to whole words where asked."""
    if align_to_words:
        words = passage.word_ids
        while first > 0 and words[first - 1] == words[first]:
            first -= 1
        while last + 1 < len(words) and words[last + 1] == words[last]:
            last += 1
    return int(passage.offsets[first][0]), int(passage.offsets[last][1])


@dataclass(frozen=True, slots=True)
class QuestionSpans:
    """Candidates [K, 4] of one question on one passage, best first: first token, last token (of the passage, both
    inside), score, what they compete by; and what its windows say of "no answer", the least of all windows."""

    spans_K4: np.ndarray
    null_score: float
    impossible: float | None
    num_windows: int


def question_spans(
    windows: QuestionWindows, rows: range, scores: Sequence[WindowOutput], rule: SpanRule
) -> QuestionSpans:
    """The candidates of one question from its windows `rows`, best first."""
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
            found.append(_candidates(inside_n2, may_start_n, rule.max_tokens) + shift)
        else:
            spans, is_best = _joint_candidates(said, start, may_start_n, rule.max_tokens)
            found.append(spans[is_best] + shift)
            others.append(spans[~is_best] + shift)
    spans_K3 = np.concatenate(found)
    if not len(spans_K3) and others:  # no start of any beam lies in its window of most context
        spans_K3 = np.concatenate(others)
    return QuestionSpans(
        rule.ranked(spans_K3), null_score, float(impossible) if np.isfinite(impossible) else None, len(rows)
    )


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
    rule: SpanRule | None = None,
    num_best: int = 20,
) -> Predictions:
    """Join the windows of each question. `scores` has one entry per window, in window order: an array [length, 2] of
    start and end logits, or what a head of another form says. `rule` None: the likeliest answers of up to 30 tokens."""
    rule = rule or SpanRule()
    nbest: dict[str, tuple[SpanAnswer, ...]] = {}
    null_odds: dict[str, float] = {}
    read: dict[str, WindowsRead] = {}
    borders = np.searchsorted(windows.question_W, np.arange(len(data.questions) + 1))
    for number, question in enumerate(data.questions):
        rows = range(borders[number], borders[number + 1])
        if not rows:
            continue
        ranking = Ranking(num_best)
        spans = question_spans(windows, rows, scores, rule)
        ranking.add(spans, windows.passage(rows[0]), data.context_of(question))
        nbest[question.id], null_odds[question.id] = ranking.answers(), ranking.null_odds
        read[question.id] = WindowsRead(len(rows), int(windows.num_dropped_Q[number]))
    return Predictions(nbest=nbest, null_odds=null_odds, windows=read, reach=windows.reach)


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """`context[start:end] == text`; an empty text at 0, 0 says that there is no answer."""

    score: float
    start: int
    end: int
    text: str


def scored_answers(
    windows: QuestionWindows,
    rows: range,
    logits: Iterable[np.ndarray],
    context: str,
    *,
    top_k: int,
    max_answer_tokens: int,
    align_to_words: bool,
    with_null: bool,
) -> list[ScoredAnswer]:
    """The `top_k` best answers of one question from its windows `rows`, each with logits [length, 2] (start, end).

    Without `with_null` there is always one answer at least: an empty one of score 0 where the passage has no token.
    """
    passage = windows.passage(rows[0])
    found: dict[str, ScoredAnswer] = {}
    null_score = np.inf
    num_candidates = top_k * 2 + 10 if align_to_words else top_k  # aligned spans may fall together
    for row, logits_L2 in zip(rows, logits, strict=True):
        first, last, place = int(windows.first_W[row]), int(windows.last_W[row]), windows.passage_start(row)
        scores = np.asarray(logits_L2, dtype=np.float64)
        visible = np.concatenate([scores[:1], scores[place : place + last - first]])  # [CLS], then the passage
        chances = np.exp(visible - visible.max(axis=0))
        chances /= chances.sum(axis=0)
        null_score = min(null_score, float(chances[0].prod()))
        for start, end, score in _best_spans(chances[1:], num_candidates, max_answer_tokens):
            begin, stop = characters_of(passage, first + start, first + end, align_to_words)
            text = context[begin:stop]
            known = found.get(text.lower())
            if known is None:
                found[text.lower()] = ScoredAnswer(score, begin, stop, text)
            else:
                found[text.lower()] = ScoredAnswer(known.score + score, known.start, known.end, known.text)
    answers = list(found.values())
    if with_null or not answers:
        answers.append(ScoredAnswer(float(null_score) if with_null else 0.0, 0, 0, ""))
    return sorted(answers, key=lambda answer: -answer.score)[:top_k]


def _best_spans(chances_n2: np.ndarray, num_spans: int, max_tokens: int) -> list[tuple[int, int, float]]:
    """First token, last token and score of the best spans of at most `max_tokens` tokens, best first."""
    num_tokens = len(chances_n2)
    reach = min(max_tokens, num_tokens)
    if not num_tokens:
        return []
    ends = np.concatenate([chances_n2[:, 1], np.zeros(reach - 1)])
    band_nA = chances_n2[:, :1] * np.lib.stride_tricks.sliding_window_view(ends, reach)
    inside_nA = np.arange(num_tokens)[:, None] + np.arange(reach) < num_tokens
    flat = np.where(inside_nA, band_nA, -1.0).ravel()
    num_spans = min(num_spans, int((flat >= 0).sum()))
    least = np.partition(flat, len(flat) - num_spans)[len(flat) - num_spans]
    chosen = np.flatnonzero(flat >= least)
    chosen = chosen[np.argsort(-flat[chosen], kind="stable")][:num_spans]
    starts, extra = np.divmod(chosen, reach)
    return list(zip(starts.tolist(), (starts + extra).tolist(), flat[chosen].tolist(), strict=True))
