"""The loss of multiple choice: cross-entropy over the choices of each question.

Letters: S sequences (one a choice), W questions.
Source: Devlin et al. 2019 (BERT), section 4.4: one score a choice, softmax over the choices.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from spanwise.tasks.sequence_rows import ExampleBorders


@dataclass(frozen=True)
class ChoiceTargets:
    """Which sequences are one question, and the sequence of each right answer, int64 [W]; None unlabelled."""

    questions: ExampleBorders
    gold: Tensor | None


@dataclass(frozen=True)
class ChoiceLoss:
    """The loss summed over the questions (fp32 scalar), and how many are right (detached)."""

    sum: Tensor
    num_correct: Tensor


def choice_loss(scores_S: Tensor, targets: ChoiceTargets) -> ChoiceLoss:
    """Cross-entropy of each question's own choices; their number may differ."""
    assert targets.gold is not None  # training reads labelled files alone
    borders = targets.questions.borders
    scores_S = scores_S[: targets.questions.num_sequences].float()
    counts_W = borders.diff()
    highest_W = torch.segment_reduce(scores_S.detach(), "max", offsets=borders, axis=0, unsafe=True)
    shifted_S = scores_S - highest_W.repeat_interleave(counts_W, output_size=len(scores_S))
    total_W = torch.segment_reduce(shifted_S.exp(), "sum", offsets=borders, axis=0, unsafe=True)
    gold_W = scores_S.index_select(0, targets.gold)
    with torch.no_grad():
        num_correct = (gold_W >= highest_W).sum()
    return ChoiceLoss(sum=(total_W.log() + highest_W - gold_W).sum(), num_correct=num_correct)
