"""Next sentence prediction: does the second segment follow the first, or does it come from another document?

Source: Devlin et al. 2019 (BERT), section 3.1, task 2; spec FAMILY section 6.1.
"""

from __future__ import annotations

from typing import ClassVar

from spanwise.config import part
from spanwise.nn.encoder import Encoder
from spanwise.pretraining.objectives.base import checked_weight
from spanwise.pretraining.objectives.pair_label import PairScorer, PairTargets, pair_targets
from spanwise.pretraining.packs import Hidden, Pack, Spans


@part("next_sentence")
class NextSentence:
    """Cross-entropy of a sequence's label, read at its pooled [CLS]. Label 0: B is next; 1: B is random (as in
    `BertForPreTraining`)."""

    name: ClassVar[str] = "nsp"
    needs: ClassVar[frozenset[str]] = frozenset({"random_next", "bidirectional", "pooler"})

    weight: float = 1.0

    def __post_init__(self) -> None:
        checked_weight(self.name, self.weight)

    def targets(self, pack: Pack, spans: Spans | None = None, hidden: Hidden | None = None) -> PairTargets:
        """Return the labels of a pack's sequences."""
        return pair_targets(pack)

    def targets_per_token(self, length: float) -> float:
        """One target a sequence of `length` tokens."""
        return 1.0 / length

    def build(self, encoder: Encoder) -> PairScorer:
        """Return the classifier over the encoder's pooler. Raises: ConfigError where it has none."""
        return PairScorer(encoder, self.name)
