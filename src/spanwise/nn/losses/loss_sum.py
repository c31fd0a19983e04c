"""The loss of a pack as every head gives it: a sum over targets, which the training loop divides by their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class LossSum:
    """A loss summed over targets (scalar float32) and how many of them are right (detached), where that can be said.

    `is_log_likelihood`: the sum is minus the log-likelihood of the targets in nats, so its mean has a perplexity.
    """

    sum: Tensor
    num_correct: Tensor | None = None
    is_log_likelihood: bool = False

    @classmethod
    def total(cls, losses: Sequence[LossSum], weight: float = 1.0) -> LossSum:
        """Add the losses of several parts of a pack and multiply the sum by `weight`."""
        correct = [loss.num_correct for loss in losses if loss.num_correct is not None]
        return cls(
            sum=torch.stack([loss.sum for loss in losses]).sum() * weight,
            num_correct=torch.stack(correct).sum() if correct else None,
            is_log_likelihood=weight == 1.0 and all(loss.is_log_likelihood for loss in losses),
        )
