"""Whole-word masking: random words, all pieces of each.

Source: SpanBERT, section 4.1 ("Whole words"); Google's BERT release of 2019.
Letters: S sequences, n maskable tokens of one sequence.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from spanwise.config import part
from spanwise.pretraining.masking.base import checked_ratio
from spanwise.pretraining.masking.rounds import Rounds
from spanwise.pretraining.packs import Pack, Spans


@part("whole_words")
class WholeWords:
    """Hide words, every word alike and none twice, until ceil(ratio * n) of a sequence's n tokens are hidden.

    Differs: Google's code skips a word that does not fit the rest of the budget, which hides long words less often;
    here the last word is finished (`end="words"`) or cut (`end="budget"`).
    """

    ratio: float = 0.15
    end: Literal["words", "budget"] = "words"

    def __post_init__(self) -> None:
        checked_ratio(self.ratio)

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the hidden words as spans; neighbours are one span. See `MaskingScheme.select`."""
        return Rounds(ratio=self.ratio, end=self.end).select(pack, keys, capacity)
