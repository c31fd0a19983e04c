"""Objectives about two segments: one label per sequence, read from the pooled vector of its first token.

Source: Devlin et al. 2019 (BERT), section 3.1, task 2 (next sentence); Lan et al. 2020 (ALBERT), section 3.1 (order).
Letters: S sequences of a pack, N of them with a label, D hidden size.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.config import part
from spanwise.config.ranges import Weight
from spanwise.errors import ConfigError
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.pair import PairHead
from spanwise.nn.vocabulary_loss import DEAD, VocabularyLoss
from spanwise.pretraining.formats import NO_LABEL
from spanwise.pretraining.objectives.base import PlaceTargets
from spanwise.pretraining.packs import Hidden, Pack, Spans


@dataclass(frozen=True, kw_only=True)
class PairTargets(PlaceTargets):
    """The N sequences of a pack that have a label, by their first tokens."""

    capacity: ClassVar[str] = "sequences"
    label: ClassVar[str] = "labels"

    labels: Tensor  # [N] int64, 0 or 1


def pair_targets(pack: Pack) -> PairTargets:
    """Return the targets of a pack. Raises: ConfigError where its format gives no labels."""
    if pack.pair_labels is None:
        raise ConfigError("this pack has no pair labels; choose a format that gives them, such as SentencePair.")
    labelled = np.flatnonzero(pack.pair_labels != NO_LABEL)
    return PairTargets(
        positions=torch.from_numpy(pack.borders[:-1][labelled]), labels=torch.from_numpy(pack.pair_labels[labelled])
    )


class PairScorer(PairHead):
    """The head with its loss; parameters are those of `PairHead`."""

    def __init__(self, encoder: Encoder, name: str) -> None:
        if encoder.pooler is None:
            raise ConfigError(f"objective '{name}' reads the pooled vector of [CLS]; set encoder.pooler=true.")
        super().__init__(encoder.config, encoder.pooler)

    def forward(  # type: ignore[override]
        self, hidden: Tensor, targets: PairTargets, per_row: bool = False
    ) -> VocabularyLoss:
        """Return the loss summed over the N labels; hidden [T, D]. `per_row` adds the N single losses."""
        scores_N2 = super().forward(hidden.index_select(0, targets.positions))
        losses_N = F.cross_entropy(scores_N2, targets.labels, reduction="none", ignore_index=DEAD)
        num_correct = (scores_N2.argmax(dim=1) == targets.labels).sum()
        return VocabularyLoss(losses_N.sum(), num_correct, losses_N.detach() if per_row else None)


class PairObjective:
    """An objective about two segments; a part adds its name, its needs and its weight."""

    name: ClassVar[str]
    weight: float

    def targets(self, pack: Pack, spans: Spans | None = None, hidden: Hidden | None = None) -> PairTargets:
        """Return the labels of a pack's sequences that have one."""
        return pair_targets(pack)

    def targets_per_token(self, length: float) -> float:
        """At most one target per sequence of `length` tokens."""
        return 1.0 / length

    def build(self, encoder: Encoder) -> PairScorer:
        """Return the classifier over the encoder's pooler. Raises: ConfigError where it has none."""
        return PairScorer(encoder, self.name)


@part("next_sentence")
class NextSentence(PairObjective):
    """Cross-entropy of a sequence's label, read at its pooled [CLS]. Label 0: B is next; 1: B is random (as in
    `BertForPreTraining`)."""

    name: ClassVar[str] = "nsp"
    needs: ClassVar[frozenset[str]] = frozenset({"random_next", "bidirectional", "pooler"})

    weight: Weight = 1.0


@part("sentence_order")
class SentenceOrder(PairObjective):
    """Cross-entropy of a sequence's label, read at its pooled [CLS]. Label 0: the order of the text; 1: swapped (as in
    `AlbertForPreTraining`). A sequence without a second segment has no label and is no target."""

    name: ClassVar[str] = "sop"
    needs: ClassVar[frozenset[str]] = frozenset({"swapped_order", "bidirectional", "pooler"})

    weight: Weight = 1.0
