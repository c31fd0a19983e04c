"""The loss of multiple choice: cross-entropy over the choices of each question.

Letters: S sequences (one per choice), W questions.
Source: Devlin et al. 2019 (BERT), section 4.4: one score per choice, softmax over the choices.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from spanwise.nn.losses.loss_sum import LossSum
from spanwise.nn.losses.pointer import pointer_loss
from spanwise.tasks.sequence_rows import ExampleBorders


@dataclass(frozen=True)
class ChoiceTargets:
    """Which sequences are one question, and the sequence of each right answer, int64 [W]; None unlabelled."""

    questions: ExampleBorders
    gold: Tensor | None


def choice_loss(scores: Tensor, targets: ChoiceTargets) -> LossSum:
    """Return the cross-entropy over each question's own choices, whose number may differ; `scores` [S]."""
    assert targets.gold is not None  # training reads labelled files alone
    return pointer_loss(scores[: targets.questions.num_sequences], targets.questions.borders, targets.gold)
