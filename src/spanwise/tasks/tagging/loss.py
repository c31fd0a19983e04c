"""The loss of tagging: cross-entropy at the unit that each tag stands at.

Letters: T tokens of the pack, N units, K tags.
Source: Devlin et al. 2019 (BERT), section 5.3: the first piece of each word alone is classified.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.nn.losses.loss_sum import LossSum


@dataclass(frozen=True)
class TagTargets:
    """Rows of the pack at which units are read, int64 [N], how many each example has, and the gold [N] or None."""

    rows: Tensor
    num_units: tuple[int, ...]
    gold: Tensor | None


def tag_loss(scores_TK: Tensor, targets: TagTargets) -> LossSum:
    """Cross-entropy of the N units; no unit is legal (sum 0)."""
    assert targets.gold is not None  # training reads labelled files alone
    scores_NK = scores_TK.float().index_select(0, targets.rows)
    with torch.no_grad():
        num_correct = (scores_NK.argmax(dim=1) == targets.gold).sum()
    return LossSum(sum=F.cross_entropy(scores_NK, targets.gold, reduction="sum"), num_correct=num_correct)
