"""Replaced token detection: say of every token whether the generator put it there.

A token that the generator guessed right is no replacement. All real tokens are asked for, [CLS] and [SEP] too; filler
never.

Source: Clark et al. 2020 (ELECTRA), section 2, weight 50 (lambda) in section 3.1.
Letters: T tokens in the pack with filler, N of them that are targets, D hidden size.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.config import part
from spanwise.config.ranges import Weight
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.replaced_token import ReplacedTokenHead
from spanwise.nn.vocabulary_loss import DEAD
from spanwise.pretraining.objectives.base import Corrupted
from spanwise.pretraining.packs import Hidden, Pack, Spans

NUM_BINS = 512  # of the chance of a replacement, for the area under the ROC curve; one half is a border of two bins


@dataclass(frozen=True, kw_only=True)
class ReplacedTokenTargets:
    """The N first tokens of a pack: the real ones, and filler where packs have one shape.

    Their labels are known when the generator has drawn.
    """

    capacity: ClassVar[str] = "tokens"
    label: ClassVar[str] = "asked"

    asked: Tensor  # [N] int64: 0, and DEAD at filler

    @property
    def count(self) -> int:
        return self.asked.shape[0]


@dataclass(frozen=True, kw_only=True)
class ReplacedTokenLoss:
    """Binary cross-entropy in nats, summed over the N tokens."""

    is_log_likelihood: ClassVar[bool] = True

    sum: Tensor  # scalar float32, differentiable
    num_correct: Tensor  # scalar int64
    losses: Tensor | None = None  # [N] float32, on request
    tallies: Tensor | None = None  # [2, NUM_BINS] int64 while evaluating: original and replaced tokens by their chance

    @staticmethod
    def measures(tallies: Tensor) -> dict[str, float]:
        """Precision and recall of "replaced" at one half, area under the ROC curve (0.5: guessing), share of replaced
        tokens; those that are defined."""
        original_b, replaced_b = tallies.double()
        num_original, num_replaced = float(original_b.sum()), float(replaced_b.sum())
        half = NUM_BINS // 2
        called, right = float(tallies[:, half:].sum()), float(replaced_b[half:].sum())
        found = {"replaced_share": num_replaced / max(1.0, num_original + num_replaced)}
        if called:
            found["precision"] = right / called
        if num_replaced:
            found["recall"] = right / num_replaced
        if num_replaced and num_original:
            below_b = original_b.cumsum(0) - original_b / 2  # a tie counts half
            found["auc"] = float((replaced_b * below_b).sum()) / (num_original * num_replaced)
        return found


class ReplacedTokenScorer(ReplacedTokenHead):
    """The head with its loss; parameters are those of `ReplacedTokenHead`."""

    reads_corrupted = True

    def forward(  # type: ignore[override]
        self, hidden: Tensor, targets: ReplacedTokenTargets, corrupted: Corrupted, per_row: bool = False
    ) -> ReplacedTokenLoss:
        """Return the loss summed over the real ones of the N tokens; hidden [T, D]. `per_row` adds the N single
        losses."""
        assert corrupted.original_ids is not None  # pretraining/needs.py lets no other corruption through
        first, is_asked_N = slice(len(targets.asked)), targets.asked != DEAD
        scores_N = super().forward(hidden[first])
        is_replaced_N = corrupted.input_ids[first] != corrupted.original_ids[first]
        losses_N = F.binary_cross_entropy_with_logits(scores_N, is_replaced_N.float(), reduction="none")
        losses_N = losses_N.masked_fill(~is_asked_N, 0.0)
        return ReplacedTokenLoss(
            sum=losses_N.sum(),
            num_correct=(((scores_N > 0) == is_replaced_N) & is_asked_N).sum(),
            losses=losses_N.detach() if per_row else None,
            tallies=None if self.training else _tally(scores_N[is_asked_N], is_replaced_N[is_asked_N]),
        )


def _tally(scores_N: Tensor, is_replaced_N: Tensor) -> Tensor:
    """Count tokens by label and by the bin of their chance; a score of 0 lies below one half, as for `num_correct`."""
    bins_N = (torch.sigmoid(scores_N.double()) * NUM_BINS).ceil().long().clamp(1, NUM_BINS) - 1
    return torch.bincount(is_replaced_N.long() * NUM_BINS + bins_N, minlength=2 * NUM_BINS).view(2, NUM_BINS)


@part("replaced_token")
class ReplacedToken:
    """Was this token replaced? Asked of every real token."""

    name: ClassVar[str] = "rtd"
    needs: ClassVar[frozenset[str]] = frozenset({"replacements"})

    weight: Weight = 50.0

    def targets(self, pack: Pack, spans: Spans, hidden: Hidden) -> ReplacedTokenTargets:
        return ReplacedTokenTargets(asked=torch.zeros(len(pack.input_ids), dtype=torch.int64))

    def targets_per_token(self, length: float) -> float:
        return 1.0

    def build(self, encoder: Encoder) -> ReplacedTokenScorer:
        return ReplacedTokenScorer(encoder.config)
