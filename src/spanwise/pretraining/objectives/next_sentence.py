"""Next sentence prediction: does the second segment follow the first, or does it come from another document?

Source: Devlin et al. 2019 (BERT), section 3.1, task 2.
"""

from __future__ import annotations

from typing import ClassVar

from spanwise.config import part
from spanwise.pretraining.objectives.pair_label import PairObjective


@part("next_sentence")
class NextSentence(PairObjective):
    """Cross-entropy of a sequence's label, read at its pooled [CLS]. Label 0: B is next; 1: B is random (as in
    `BertForPreTraining`)."""

    name: ClassVar[str] = "nsp"
    needs: ClassVar[frozenset[str]] = frozenset({"random_next", "bidirectional", "pooler"})

    weight: float = 1.0
