"""Sentence order prediction: do two consecutive segments stand in their order, or were they swapped?

Source: Lan et al. 2020 (ALBERT), section 3.1; spec FAMILY section 6.3.
"""

from __future__ import annotations

from typing import ClassVar

from spanwise.config import part
from spanwise.nn.encoder import Encoder
from spanwise.pretraining.objectives.base import checked_weight
from spanwise.pretraining.objectives.pair_label import PairScorer, PairTargets, pair_targets
from spanwise.pretraining.packs import Hidden, Pack, Spans


@part("sentence_order")
class SentenceOrder:
    """Cross-entropy of a sequence's label, read at its pooled [CLS]. Label 0: the order of the text; 1: swapped (as in
    `AlbertForPreTraining`). A sequence without a second segment has no label and is no target."""

    name: ClassVar[str] = "sop"
    needs: ClassVar[frozenset[str]] = frozenset({"swapped_order", "bidirectional", "pooler"})

    weight: float = 1.0

    def __post_init__(self) -> None:
        checked_weight(self.name, self.weight)

    def targets(self, pack: Pack, spans: Spans | None = None, hidden: Hidden | None = None) -> PairTargets:
        """Return the labels of a pack's pairs."""
        return pair_targets(pack)

    def targets_per_token(self, length: float) -> float:
        """About one target a sequence of `length` tokens."""
        return 1.0 / length

    def build(self, encoder: Encoder) -> PairScorer:
        """Return the classifier over the encoder's pooler. Raises: ConfigError where it has none."""
        return PairScorer(encoder, self.name)
