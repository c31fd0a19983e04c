"""The loss of classification and regression, one score row an example.

Letters: W examples of the pack, S windows, K labels.
Source: Devlin et al. 2019 (BERT), section 4.1 (regression: squared error).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.nn.losses.loss_sum import LossSum
from spanwise.nn.sequences import Sequences
from spanwise.tasks.sequence_rows import ExampleBorders

Kind = Literal["single_label", "multi_label", "regression"]


@dataclass(frozen=True)
class ClassTargets:
    """Which sequences are one example, and the gold: ids [W] int64, numbers [W], or 0 and 1 [W, K]; None unlabelled.

    An id of -1 is a label that the model does not have. Where `num_orders` is 2, sequences come by twos, and `examples`
    counts the twos.
    """

    examples: ExampleBorders
    gold: Tensor | None
    num_orders: int = 1


def window_scores(head: Any, hidden_TD: Tensor, sequences: Sequences, targets: ClassTargets) -> Tensor:
    """Scores [S, K] of each window; of pairs in both orders, of the sum of the two rows that the head reads."""
    if targets.num_orders == 1:
        return head(hidden_TD, sequences)
    rows_SD = head.read(hidden_TD, sequences)[: 2 * targets.examples.num_sequences]
    return head.score(rows_SD[0::2] + rows_SD[1::2])


def class_loss(scores_SK: Tensor, targets: ClassTargets, kind: Kind) -> LossSum:
    """Cross-entropy, squared error, or the mean over labels of binary cross-entropy, of each example's mean scores."""
    scores_WK = targets.examples.mean(scores_SK.float())
    assert targets.gold is not None  # training reads labelled files alone
    if kind == "regression":
        return LossSum(sum=(scores_WK[:, 0] - targets.gold).square().sum())
    if kind == "multi_label":
        losses_WK = F.binary_cross_entropy_with_logits(scores_WK, targets.gold, reduction="none")
        return LossSum(sum=losses_WK.mean(dim=1).sum())
    with torch.no_grad():
        num_correct = (scores_WK.argmax(dim=1) == targets.gold).sum()
    return LossSum(sum=F.cross_entropy(scores_WK, targets.gold, reduction="sum"), num_correct=num_correct)
