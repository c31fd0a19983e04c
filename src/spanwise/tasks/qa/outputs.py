"""The scores that a head of any form gives each window, as arrays that decoding reads.

Letters: T tokens in the pack, L tokens of a window, B starts of the joint form, D hidden size.
Source: Clark et al. 2020 (ELECTRA) and its released code (beam of 20 starts).
Differs: a beam holds passage tokens alone, and the last [SEP] is never looked at; all ends within reach of a start are
candidates, not the 20 best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from spanwise.data.batch import Batch
from spanwise.nn.heads.qa import QuestionAnsweringHead
from spanwise.tasks.base import per_sequence
from spanwise.tasks.qa.loss import SpanTargets


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
    head: QuestionAnsweringHead, hidden_TD: Tensor, batch: Batch, targets: SpanTargets, beam_size: int
) -> Sequence[WindowOutput]:
    """One a window: plain arrays [L, 2] of a head that has logits alone."""
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
