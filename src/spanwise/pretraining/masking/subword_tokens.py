"""BERT's masking: single word pieces, every maskable token alike.

Source: Devlin et al. 2019 (BERT), section 3.1; SpanBERT, section 5.1 ("Subword Tokens").
"""

from __future__ import annotations

import numpy as np

from spanwise.config import part
from spanwise.pretraining.masking.base import checked_ratio
from spanwise.pretraining.masking.rounds import Rounds
from spanwise.pretraining.packs import Pack, Spans


@part("subword_tokens")
class SubwordTokens:
    """Hide exactly ceil(ratio * n) of a sequence's n maskable tokens, drawn without replacement."""

    ratio: float = 0.15

    def __post_init__(self) -> None:
        checked_ratio(self.ratio)

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the hidden tokens as spans; neighbours are one span. See `MaskingScheme.select`."""
        # budgets are met exactly, so nothing is ever cut
        return Rounds(ratio=self.ratio, anchors="tokens", unit="tokens").select(pack, keys, capacity)
