"""BERT's masking: single word pieces, every maskable token alike.

Source: Devlin et al. 2019 (BERT), section 3.1; SpanBERT's "subword tokens", spec FAMILY section 4.
"""

from __future__ import annotations

import numpy as np

from spanwise.config import part
from spanwise.pretraining.masking.anchors import list_anchors
from spanwise.pretraining.masking.base import checked_capacity, checked_ratio, sequence_budgets
from spanwise.pretraining.masking.merge import runs
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below


@part("subword_tokens")
class SubwordTokens:
    """Hide exactly ceil(ratio * n) of a sequence's n maskable tokens, drawn without replacement."""

    ratio: float = 0.15

    def __post_init__(self) -> None:
        checked_ratio(self.ratio)

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the hidden tokens as spans; neighbours are one span. See `MaskingScheme.select`."""
        share = checked_ratio(self.ratio)
        budgets_S = sequence_budgets(pack.borders, pack.maskable, share.numerator, share.denominator)
        checked_capacity(capacity, budgets_S)  # budgets are met exactly, so nothing is ever cut
        sequence, start, end = _select(pack.borders, pack.maskable, pack.starts_word, keys, budgets_S)
        return Spans(sequence=sequence, start=start, end=end, num_drawn=int(budgets_S.sum()))


@njit
def _select(borders, maskable_T, starts_word_T, keys_S, budgets_S):
    hidden_T = np.zeros(borders[-1], dtype=np.bool_)
    longest, total = np.int64(0), np.int64(0)
    for s in range(len(budgets_S)):
        longest = max(longest, borders[s + 1] - borders[s])
        total += budgets_S[s]
    tokens = np.empty(longest, dtype=np.int64)
    for s in range(len(budgets_S)):
        budget = budgets_S[s]
        n = list_anchors(tokens, borders[s], borders[s + 1], maskable_T, starts_word_T, True) if budget else 0
        for i in range(budget):  # the first `budget` steps of a Fisher-Yates shuffle
            j = i + below(keys_S[s], i, n - i)
            hidden_T[tokens[j]] = True
            tokens[j] = tokens[i]
    return runs(hidden_T, borders, total)
