"""Whole-word masking: random words, all pieces of each.

Source: SpanBERT, section 4.1 ("Whole words"); Google's BERT release of 2019; spec FAMILY section 4.
Letters: S sequences, n maskable tokens of one sequence.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from spanwise.config import part
from spanwise.pretraining.masking.anchors import MAX_VOID, counted_anchor, is_anchor
from spanwise.pretraining.masking.base import checked_capacity, checked_ratio, sequence_budgets
from spanwise.pretraining.masking.merge import no_token_hidden, runs
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below


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
        share = checked_ratio(self.ratio)
        budgets_S = sequence_budgets(pack.borders, pack.maskable, share.numerator, share.denominator)
        sequence, start, end, num_drawn, num_cut = _select(
            pack.borders,
            pack.maskable,
            pack.starts_word,
            keys,
            budgets_S,
            self.end == "budget",
            checked_capacity(capacity, budgets_S),
        )
        return Spans(sequence=sequence, start=start, end=end, num_drawn=num_drawn, num_cut=num_cut)


@njit
def _select(borders, maskable_T, starts_word_T, keys_S, budgets_S, strict, capacity):
    reserved = budgets_S.sum()
    hidden_T = no_token_hidden(borders[-1])
    room = capacity
    num_drawn, num_cut = 0, 0
    for s in range(len(budgets_S)):
        budget, key = budgets_S[s], keys_S[s]
        first, last = borders[s], borders[s + 1]
        reserved -= budget
        limit = budget if strict else room - reserved
        num_hidden, counter, void = 0, 0, 0
        while num_hidden < budget:
            t = first + below(key, counter, last - first)
            counter += 1
            if not is_anchor(t, first, maskable_T, starts_word_T, hidden_T, False):
                void += 1
                if void < MAX_VOID:
                    continue
                t = counted_anchor(first, last, maskable_T, starts_word_T, hidden_T, False, key, counter)
                counter += 1
            void = 0
            num_drawn += 1
            while True:
                if num_hidden == limit:
                    num_cut += not strict
                    break
                hidden_T[t] = 1
                num_hidden += 1
                t += 1
                if t == last or not maskable_T[t] or starts_word_T[t]:
                    break
        room -= num_hidden
    sequence, start, end = runs(hidden_T, borders, capacity - room)
    return sequence, start, end, num_drawn, num_cut
