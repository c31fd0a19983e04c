"""Sentence order prediction: do two consecutive segments stand in their order, or were they swapped?

Source: Lan et al. 2020 (ALBERT), section 3.1.
"""

from __future__ import annotations

from typing import ClassVar

from spanwise.config import part
from spanwise.pretraining.objectives.pair_label import PairObjective


@part("sentence_order")
class SentenceOrder(PairObjective):
    """Cross-entropy of a sequence's label, read at its pooled [CLS]. Label 0: the order of the text; 1: swapped (as in
    `AlbertForPreTraining`). A sequence without a second segment has no label and is no target."""

    name: ClassVar[str] = "sop"
    needs: ClassVar[frozenset[str]] = frozenset({"swapped_order", "bidirectional", "pooler"})

    weight: float = 1.0
