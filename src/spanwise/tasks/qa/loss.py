"""The losses of extractive question answering over packed windows, and the scores that decoding reads of each window.

With several gold answers the loss is that of all of them together: minus the log of the sum of their probabilities
(each the product of a start and an end), so that the model may choose which of them it finds.

Letters: T tokens in the pack, S windows, G gold answers (one or more a window), M tokens of the pack where an answer
may begin or end, E ends of all gold starts, D hidden size; of one window L tokens, B starts of the joint form.
Source: Devlin et al. 2018 (BERT), section 4.2; Clark and Gardner 2018, section 2.3 (several answers); Liu et al. 2019
(RoBERTa) and Clark et al. 2020 (ELECTRA) for classifiers and joint spans.
Differs: ELECTRA's code lets an answer end at the last [SEP] too, in its beam of 20 starts as well, and looks at the 20
best ends of a start; here all ends within reach are candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from spanwise.data.batch import Batch
from spanwise.nn.heads.qa import QuestionAnsweringHead
from spanwise.nn.heads.span_selection import SpanSelectionHead
from spanwise.nn.losses.loss_sum import LossSum
from spanwise.nn.losses.pointer import Pointed, log_softmax, loss_of_any, point, spread
from spanwise.nn.sequences import Sequences
from spanwise.tasks.base import per_sequence

AnswerHead = QuestionAnsweringHead | SpanSelectionHead


@dataclass(frozen=True)
class SpanTargets:
    """Rows of the pack, int64 [G], that are the first and the last token of the gold answers, window after window.

    A window that does not show its answer points both at its [CLS], its first row. `borders_S` [S+1] says which answers
    are a window's; None: one each. `passage_S2` are the first row and the one past the last of each window's passage,
    `impossible_S` is 1.0 for windows of questions that have no answer, `question_S` the row of each window's
    [QUESTION]; only some heads read the three.
    """

    first_G: Tensor
    last_G: Tensor
    borders_S: Tensor | None = None
    passage_S2: Tensor | None = None
    impossible_S: Tensor | None = None
    question_S: Tensor | None = None

    def gold_borders(self, num_windows: int) -> Tensor:
        """Return where the answers of each window begin, [S+1]."""
        if self.borders_S is not None:
            return self.borders_S
        return torch.arange(num_windows + 1, device=self.first_G.device)


def span_loss(logits: Tensor, targets: SpanTargets, sequences: Sequences) -> LossSum:
    """Return the mean of the start and the end cross-entropy, each over all positions of a window; summed over windows.

    A start and an end are two pointers over the tokens of the window: `logits` [T, 2].
    """
    logits_T2 = logits.float()
    borders = sequences.cu_seqlens.long()
    gold_borders = targets.gold_borders(len(borders) - 1)
    numbers_S = torch.arange(len(gold_borders) - 1, device=borders.device)
    window_G = spread(numbers_S, gold_borders, len(targets.first_G))
    start = point(logits_T2[:, 0], borders, targets.first_G, window_G)
    end = point(logits_T2[:, 1], borders, targets.last_G, window_G)
    return _loss_of_spans(start, end, gold_borders)


def _loss_of_spans(start: Pointed, end: Pointed, gold_borders: Tensor) -> LossSum:
    """Return half of minus the log of the probability of the gold spans [G], those of a window together."""
    both = Pointed(start.log_p + end.log_p, start.on_top & end.on_top)
    loss = loss_of_any(both, gold_borders)
    return LossSum(sum=loss.sum * 0.5, num_correct=loss.num_correct, is_log_likelihood=True)


def pointed(head: SpanSelectionHead, hidden_TD: Tensor, targets: SpanTargets, sequences: Sequences) -> Tensor:
    """Return the logits [T, 2] of a head that points from the question token of each window.

    Raises: TypeError for windows without one, which another head's task has made.
    """
    if targets.question_S is None:
        raise TypeError("these windows have no [QUESTION]; make them with the frame of the task that has the pointer")
    return head.one_each(hidden_TD, targets.question_S, sequences)


def head_loss(
    head: AnswerHead, hidden_TD: Tensor, targets: SpanTargets, sequences: Sequences, answerable_weight: float
) -> LossSum:
    """Return the loss of a head of any form.

    It is that of its spans and, where it has a classifier, `answerable_weight` times the cross-entropy of "this
    question has no answer".
    """
    if isinstance(head, SpanSelectionHead):
        return span_loss(pointed(head, hidden_TD, targets, sequences), targets, sequences)
    shown = None
    if head.is_joint:
        shown = ShownRows.of(hidden_TD, targets, sequences)
        loss, start_log_p_M = _joint_loss(head, shown, targets)
    else:
        loss = span_loss(head(hidden_TD), targets, sequences)
    if head.answerable is None:
        return loss
    assert targets.impossible_S is not None
    first_SD = hidden_TD.index_select(0, sequences.cu_seqlens[:-1])
    mean_SD = None if shown is None else shown.mean(start_log_p_M)
    odds_S = head.answerable(first_SD, mean_SD)
    error = torch.nn.functional.binary_cross_entropy_with_logits(odds_S, targets.impossible_S, reduction="sum")
    return LossSum(sum=loss.sum + answerable_weight * error, num_correct=loss.num_correct)


@dataclass(frozen=True)
class ShownRows:
    """The rows of a pack where an answer may begin or end: the first token and the passage of each window.

    `hidden_MD` their vectors, `borders_S` [S+1] which of them are a window's, `place_T` their numbers by row of the
    pack.
    """

    hidden_MD: Tensor
    borders_S: Tensor
    place_T: Tensor

    @classmethod
    def of(cls, hidden_TD: Tensor, targets: SpanTargets, sequences: Sequences) -> ShownRows:
        assert targets.passage_S2 is not None
        first_S = sequences.cu_seqlens[:-1].long()[: len(targets.passage_S2)]
        lengths_S = targets.passage_S2[:, 1] - targets.passage_S2[:, 0] + 1
        borders_S = torch.cat([lengths_S.new_zeros(1), lengths_S.cumsum(0)])
        num_shown = int(borders_S[-1])
        number_M = torch.arange(num_shown, device=hidden_TD.device) - spread(borders_S[:-1], borders_S, num_shown)
        rows_M = spread(targets.passage_S2[:, 0], borders_S, num_shown) + number_M - 1
        rows_M = torch.where(number_M == 0, spread(first_S, borders_S, num_shown), rows_M)
        place_T = torch.zeros(len(hidden_TD), dtype=torch.long, device=hidden_TD.device)
        place_T[rows_M] = torch.arange(len(rows_M), device=hidden_TD.device)
        return cls(hidden_MD=hidden_TD.index_select(0, rows_M), borders_S=borders_S, place_T=place_T)

    def mean(self, log_p_M: Tensor) -> Tensor:
        """Return the mean vector [S, D] of each window under these log-probabilities [M]."""
        weighted_MD = log_p_M.exp().to(self.hidden_MD.dtype)[:, None] * self.hidden_MD
        return torch.segment_reduce(weighted_MD, "sum", offsets=self.borders_S, axis=0, unsafe=True)


def _joint_loss(head: QuestionAnsweringHead, shown: ShownRows, targets: SpanTargets) -> tuple[LossSum, Tensor]:
    """Return half of minus the log of the gold spans' probability, and the log-probabilities [M] of the starts.

    A span's probability is that of its start times that of its end given this start.
    """
    starts_M = head.start_scores(shown.hidden_MD)
    first_G, last_G = shown.place_T[targets.first_G], shown.place_T[targets.last_G]
    device = first_G.device
    num_windows = len(shown.borders_S) - 1
    gold_borders = targets.gold_borders(num_windows)
    # Every gold start has ends of its own: the rows of its window, once for each of the window's answers.
    window_G = spread(torch.arange(num_windows, device=device), gold_borders, len(first_G))
    lengths_G = shown.borders_S.diff()[window_G]
    borders_G = torch.cat([lengths_G.new_zeros(1), lengths_G.cumsum(0)])
    gold_E = spread(torch.arange(len(first_G), device=device), borders_G, int(borders_G[-1]))
    row_E = torch.arange(len(gold_E), device=device) - borders_G[gold_E] + shown.borders_S[window_G[gold_E]]
    ends_E = head.end_scores(shown.hidden_MD[first_G], shown.hidden_MD[row_E], gold_E)
    start = point(starts_M, shown.borders_S, first_G, window_G)
    end = point(ends_E, borders_G, borders_G[:-1] + last_G - shown.borders_S[window_G])
    return _loss_of_spans(start, end, gold_borders), log_softmax(starts_M, shown.borders_S)


@dataclass(frozen=True, slots=True)
class WindowScores:
    """One window. `logits_L2` are start and end scores; of the joint form log-probabilities, the ends given a start at
    the first token. `impossible` is a classifier's log-odds of "no answer". Of the joint form `starts_B` are positions
    of the best starts, and `ends_BL` log-probabilities of the ends given each of them."""

    logits_L2: np.ndarray
    impossible: float | None = None
    starts_B: np.ndarray | None = None
    ends_BL: np.ndarray | None = None

    @classmethod
    def of(cls, scores: np.ndarray | WindowScores) -> WindowScores:
        """A plain array is start and end logits."""
        return scores if isinstance(scores, WindowScores) else cls(np.asarray(scores))

    @property
    def null_score(self) -> float:
        """Return the score of a span at the first token, which means "no answer"."""
        return float(np.asarray(self.logits_L2[0], dtype=np.float64).sum())


WindowOutput = np.ndarray | WindowScores  # start and end logits [L, 2] alone, or all that a head says


def window_scores(
    head: AnswerHead, hidden_TD: Tensor, batch: Batch, targets: SpanTargets, beam_size: int
) -> Sequence[WindowOutput]:
    """One a window: plain arrays [L, 2] of a head that has logits alone."""
    if isinstance(head, SpanSelectionHead):
        return per_sequence(pointed(head, hidden_TD, targets, batch.sequences), batch)
    borders = batch.sequences.cu_seqlens
    if not head.is_joint:
        logits = per_sequence(head(hidden_TD), batch)
        if head.answerable is None:
            return logits
        first_SD = hidden_TD.index_select(0, borders[:-1])
        odds = head.answerable(first_SD).cpu().numpy()[: len(logits)]
        return [WindowScores(array, float(odd)) for array, odd in zip(logits, odds, strict=True)]
    assert targets.passage_S2 is not None
    places = borders.tolist()
    return [
        _joint_scores(head, hidden_TD[places[k] : places[k + 1]], first - places[k], last - places[k], beam_size)
        for k, (first, last) in enumerate(targets.passage_S2.tolist())
    ]


def _joint_scores(
    head: QuestionAnsweringHead, hidden_LD: Tensor, first: int, last: int, beam_size: int
) -> WindowScores:
    """One window whose passage has the positions `first` to `last` (half-open)."""
    shown = torch.tensor([0, *range(first, last)], device=hidden_LD.device)
    tokens_MD = hidden_LD[shown]
    start_log_p_M = head.start_scores(tokens_MD).log_softmax(0)
    num_starts = min(beam_size, last - first)
    best_B = torch.sort(start_log_p_M[1:], descending=True, stable=True).indices[:num_starts] + 1
    starts_B = torch.cat([best_B.new_zeros(1), best_B])  # the first token before all others: its span says "no answer"
    end_log_p_BM = head.end_scores(tokens_MD[starts_B], tokens_MD).log_softmax(1)
    impossible = None
    if head.answerable is not None:
        mean_1D = (start_log_p_M.exp().to(tokens_MD.dtype) @ tokens_MD)[None]
        impossible = float(head.answerable(tokens_MD[:1], mean_1D))
    length = len(hidden_LD)
    logits_L2 = np.full((length, 2), -np.inf, dtype=np.float32)
    places = shown.cpu().numpy()
    logits_L2[places, 0] = start_log_p_M.cpu().numpy()
    logits_L2[places, 1] = end_log_p_BM[0].cpu().numpy()
    ends_BL = np.full((num_starts, length), -np.inf, dtype=np.float32)
    ends_BL[:, places] = end_log_p_BM[1:].cpu().numpy()
    return WindowScores(logits_L2, impossible, places[best_B.cpu().numpy()], ends_BL)
