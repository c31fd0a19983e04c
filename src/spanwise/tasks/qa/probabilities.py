"""Answers with probabilities, as the question-answering pipeline of transformers gave them until version 5.2.

A span's score is the product of its start and end probability, each a softmax over the passage and [CLS] of one
window. Spans that read alike (whatever their case) count as one answer and their scores are added, over windows too.

Letters: n tokens of the passage in a window, A longest answer in tokens.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from spanwise.tasks.qa.features import QuestionWindows
from spanwise.tasks.qa.ranking import characters_of


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
