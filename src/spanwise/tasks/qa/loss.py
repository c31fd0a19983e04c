"""The losses of extractive question answering over packed windows.

With several gold answers the loss is that of all of them together: minus the log of the sum of their probabilities
(each the product of a start and an end), so that the model may choose which of them it finds.

Letters: T tokens in the pack, S windows, G gold answers (one or more a window), M tokens of the pack where an answer
may begin or end, E ends of all gold starts, D hidden size.
Source: Devlin et al. 2018 (BERT), section 4.2; Clark and Gardner 2018, section 2.3 (several answers); Liu et al. 2019
(RoBERTa) and Clark et al. 2020 (ELECTRA) for classifiers and joint spans; FAMILY sections 5.1, 6.2, 6.4 and trap 7C-13.
Differs: ELECTRA's code lets an answer end at the last [SEP] too.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from spanwise.nn.qa_head import QuestionAnsweringHead
from spanwise.nn.sequences import Sequences


@dataclass(frozen=True)
class SpanTargets:
    """Rows of the pack, int64 [G], that are the first and the last token of the gold answers, window after window.

    A window that does not show its answer points both at its [CLS], its first row. `borders_S` [S+1] says which answers
    are a window's; None: one each. `passage_S2` are the first row and the one past the last of each window's passage,
    `impossible_S` is 1.0 for windows of questions that have no answer; only some heads read the two.
    """

    first_G: Tensor
    last_G: Tensor
    borders_S: Tensor | None = None
    passage_S2: Tensor | None = None
    impossible_S: Tensor | None = None


@dataclass(frozen=True)
class SpanLoss:
    """The loss summed over the windows (fp32 scalar) and how many windows have both ends right (detached)."""

    sum: Tensor
    num_correct: Tensor


def span_loss(logits_T2: Tensor, targets: SpanTargets, sequences: Sequences) -> SpanLoss:
    """Mean of the start and the end cross-entropy, each over all positions of its own window; summed over windows."""
    logits_T2 = logits_T2.float()
    offsets = sequences.cu_seqlens.long()
    lengths_S = offsets.diff()
    num_tokens = logits_T2.shape[0]
    highest_S2 = torch.segment_reduce(logits_T2.detach(), "max", offsets=offsets, axis=0, unsafe=True)
    highest_T2 = highest_S2.repeat_interleave(lengths_S, dim=0, output_size=num_tokens)
    # A segmented sum, not index_add: the same order of additions in every run, on the GPU too.
    total_S2 = torch.segment_reduce((logits_T2 - highest_T2).exp(), "sum", offsets=offsets, axis=0, unsafe=True)
    log_total_S2 = total_S2.log() + highest_S2
    gold_G2 = torch.stack([logits_T2[targets.first_G, 0], logits_T2[targets.last_G, 1]], dim=1)
    if targets.borders_S is None:
        with torch.no_grad():
            num_correct = (gold_G2 >= highest_S2).all(dim=1).sum()
        return SpanLoss(sum=(log_total_S2 - gold_G2).sum() * 0.5, num_correct=num_correct)
    log_p_G = (gold_G2 - spread(log_total_S2, targets.borders_S)).sum(dim=1)
    with torch.no_grad():
        on_top_G = (gold_G2 >= spread(highest_S2, targets.borders_S)).all(dim=1)
        num_correct = torch.segment_reduce(on_top_G.float(), "max", offsets=targets.borders_S, unsafe=True).sum()
    return SpanLoss(sum=-log_sum_exp(log_p_G, targets.borders_S).sum() * 0.5, num_correct=num_correct.long())


def spread(rows_S: Tensor, borders_S: Tensor) -> Tensor:
    """The row of each window, once for every one of its answers: [S, ...] to [G, ...]."""
    return rows_S.repeat_interleave(borders_S.diff(), dim=0)


def log_sum_exp(values_G: Tensor, borders_S: Tensor) -> Tensor:
    """Log of the sum of the exponentials of each window's answers: [G] to [S]."""
    highest_S = torch.segment_reduce(values_G.detach(), "max", offsets=borders_S, unsafe=True)
    shares_G = (values_G - spread(highest_S, borders_S)).exp()
    return torch.segment_reduce(shares_G, "sum", offsets=borders_S, unsafe=True).log() + highest_S


def head_loss(
    head: QuestionAnsweringHead, hidden_TD: Tensor, targets: SpanTargets, sequences: Sequences, answerable_weight: float
) -> SpanLoss:
    """The loss of a head of any form: that of its spans and, where it has a classifier, `answerable_weight` times the
    cross-entropy of "this question has no answer"."""
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
    return SpanLoss(sum=loss.sum + answerable_weight * error, num_correct=loss.num_correct)


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
        number_M = torch.arange(int(borders_S[-1]), device=hidden_TD.device) - spread_by(borders_S[:-1], lengths_S)
        rows_M = spread_by(targets.passage_S2[:, 0], lengths_S) + number_M - 1
        rows_M = torch.where(number_M == 0, spread_by(first_S, lengths_S), rows_M)
        place_T = torch.zeros(len(hidden_TD), dtype=torch.long, device=hidden_TD.device)
        place_T[rows_M] = torch.arange(len(rows_M), device=hidden_TD.device)
        return cls(hidden_MD=hidden_TD.index_select(0, rows_M), borders_S=borders_S, place_T=place_T)

    def log_softmax(self, scores_M: Tensor) -> Tensor:
        """Over the rows of each window."""
        return scores_M - spread(log_sum_exp(scores_M, self.borders_S), self.borders_S)

    def mean(self, log_p_M: Tensor) -> Tensor:
        """The mean vector of each window under these probabilities, [S, D]."""
        weighted_MD = log_p_M.exp().to(self.hidden_MD.dtype)[:, None] * self.hidden_MD
        return torch.segment_reduce(weighted_MD, "sum", offsets=self.borders_S, axis=0, unsafe=True)


def spread_by(values_S: Tensor, counts_S: Tensor) -> Tensor:
    """Each value so many times."""
    return values_S.repeat_interleave(counts_S)


def _joint_loss(head: QuestionAnsweringHead, shown: ShownRows, targets: SpanTargets) -> tuple[SpanLoss, Tensor]:
    """Half of minus the log of the gold spans' probability: that of the start, and of the end given that start."""
    start_log_p_M = shown.log_softmax(head.start_scores(shown.hidden_MD))
    first_G, last_G = shown.place_T[targets.first_G], shown.place_T[targets.last_G]
    num_gold = len(first_G)
    device = first_G.device
    num_windows = len(shown.borders_S) - 1
    gold_borders_S = targets.borders_S
    if gold_borders_S is None:
        gold_borders_S = torch.arange(num_windows + 1, device=device)
    # Every gold start has ends of its own: the rows of its window, once for each of the window's answers.
    window_G = spread(torch.arange(num_windows, device=device), gold_borders_S)
    lengths_G = shown.borders_S.diff()[window_G]
    borders_G = torch.cat([lengths_G.new_zeros(1), lengths_G.cumsum(0)])
    gold_E = spread_by(torch.arange(num_gold, device=device), lengths_G)
    row_E = torch.arange(len(gold_E), device=device) - borders_G[gold_E] + shown.borders_S[window_G[gold_E]]
    scores_E = head.end_scores(shown.hidden_MD[first_G], shown.hidden_MD[row_E], gold_E)
    end_log_p_E = scores_E - spread(log_sum_exp(scores_E, borders_G), borders_G)
    at_last_G = borders_G[:-1] + last_G - shown.borders_S[window_G]
    log_p_G = start_log_p_M[first_G] + end_log_p_E[at_last_G]
    with torch.no_grad():
        best_start_S = torch.segment_reduce(start_log_p_M, "max", offsets=shown.borders_S, unsafe=True)
        best_end_G = torch.segment_reduce(end_log_p_E, "max", offsets=borders_G, unsafe=True)
        on_top_G = (start_log_p_M[first_G] >= best_start_S[window_G]) & (end_log_p_E[at_last_G] >= best_end_G)
        num_correct = torch.segment_reduce(on_top_G.float(), "max", offsets=gold_borders_S, unsafe=True).sum().long()
    return SpanLoss(sum=-log_sum_exp(log_p_G, gold_borders_S).sum() * 0.5, num_correct=num_correct), start_log_p_M
