"""BERT's masking: single word pieces, every maskable token alike.

Source: Devlin et al. 2019 (BERT), section 3.1; SpanBERT's "subword tokens", spec FAMILY section 4.
"""

from __future__ import annotations

import numpy as np

from spanwise.config import part
from spanwise.pretraining.masking.anchors import MAX_VOID, counted_anchor, is_anchor
from spanwise.pretraining.masking.base import checked_capacity, checked_ratio, sequence_budgets
from spanwise.pretraining.masking.merge import no_token_hidden, runs
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
    hidden_T = no_token_hidden(borders[-1])
    for s in range(len(budgets_S)):
        first, last, key = borders[s], borders[s + 1], keys_S[s]
        num_hidden, counter, void = 0, 0, 0
        while num_hidden < budgets_S[s]:
            t = first + below(key, counter, last - first)
            counter += 1
            if not is_anchor(t, first, maskable_T, starts_word_T, hidden_T, True):
                void += 1
                if void < MAX_VOID:
                    continue
                t = counted_anchor(first, last, maskable_T, starts_word_T, hidden_T, True, key, counter)
                counter += 1
            void = 0
            hidden_T[t] = 1
            num_hidden += 1
    return runs(hidden_T, borders, budgets_S.sum())
