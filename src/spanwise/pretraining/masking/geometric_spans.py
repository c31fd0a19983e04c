"""SpanBERT's masking: runs of whole words whose length follows a truncated geometric law.

Source: Joshi et al. 2020 (SpanBERT), section 3.1; the released procedure step by step in spec FAMILY section 1.3.
Letters: T tokens in the pack, S sequences, W words and n maskable tokens of one sequence, K lengths.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np

from spanwise.config import part
from spanwise.errors import ConfigError
from spanwise.pretraining.masking import lengths as laws
from spanwise.pretraining.masking.alias import AliasTable, draw
from spanwise.pretraining.masking.anchors import MAX_VOID, counted_anchor, is_anchor
from spanwise.pretraining.masking.base import checked_capacity, checked_ratio, sequence_budgets
from spanwise.pretraining.masking.merge import no_token_hidden, runs
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below, mix

_DEFAULT_P = 0.2


@part("geometric_spans")
class GeometricSpans:
    """Hide runs of whole words until the budget ceil(ratio * n) of a sequence is reached.

    A round draws a length and an anchor. An anchor that is hidden already voids the round, length included. Else the
    word of the anchor and the words after it are hidden, up to the drawn length, the end of the sequence or the
    budget. Words that are hidden already count for the length and not for the budget.

    Differs: the paper draws word starts and keeps words whole, which is the default here; the released code draws
    tokens (so long words start more spans) and cuts the last span where the budget ends. `start="tokens"` and
    `end="budget"` give that behaviour.
    """

    p: float = _DEFAULT_P  # chance that a span ends after each word
    min_words: int = 1
    max_words: int = 10  # longest drawn span, in words, not word pieces
    ratio: float = 0.15  # share of a sequence's maskable tokens
    start: Literal["words", "tokens"] = "words"  # every word alike, or every token and back to its word
    end: Literal["words", "budget"] = "words"  # finish the last word (overshoot), or stop at the budget inside it
    lengths: Literal["geometric", "uniform", "poisson", "explicit"] = "geometric"
    mean_words: float | None = None  # of lengths="poisson"
    probabilities: tuple[float, ...] | None = None  # of lengths="explicit": one a length

    def __post_init__(self) -> None:
        checked_ratio(self.ratio)
        if not 1 <= self.min_words <= self.max_words:
            raise ConfigError(
                f"masking.min_words and max_words must satisfy 1 <= min_words <= max_words, "
                f"got {self.min_words} and {self.max_words}."
            )
        owners = {"p": ("geometric", self.p != _DEFAULT_P), "mean_words": ("poisson", self.mean_words is not None)}
        owners["probabilities"] = ("explicit", self.probabilities is not None)
        for name, (law, given) in owners.items():
            if given and self.lengths != law:
                raise ConfigError(
                    f"masking.{name} belongs to lengths='{law}', but lengths is '{self.lengths}'; "
                    f"set lengths='{law}' or leave {name} out."
                )
            if name != "p" and not given and self.lengths == law:
                raise ConfigError(f"masking.lengths='{law}' needs masking.{name}.")
        _ = self.length_probabilities  # raises here, not at the first batch

    @cached_property
    def length_probabilities(self) -> np.ndarray:
        """Probabilities of the lengths min_words to max_words, float64 [K]."""
        num_lengths = self.max_words - self.min_words + 1
        if self.lengths == "geometric":
            return laws.geometric(self.p, num_lengths)
        if self.mean_words is not None:  # lengths="poisson", as checked above
            return laws.poisson(self.mean_words, self.min_words, self.max_words)
        if self.probabilities is not None:  # lengths="explicit"
            return laws.explicit(self.probabilities, num_lengths)
        return laws.uniform(num_lengths)

    @cached_property
    def _table(self) -> AliasTable:
        return AliasTable.from_weights(self.length_probabilities)

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the spans of a pack; keys uint64 [S]. See `MaskingScheme.select`."""
        share = checked_ratio(self.ratio)
        budgets_S = sequence_budgets(pack.borders, pack.maskable, share.numerator, share.denominator)
        sequence, start, end, num_drawn, num_cut = _select(
            pack.borders,
            pack.maskable,
            pack.starts_word,
            keys,
            budgets_S,
            self._table.value,
            self._table.other,
            self._table.threshold,
            self.min_words,
            self.start == "tokens",
            self.end == "budget",
            checked_capacity(capacity, budgets_S),
        )
        return Spans(sequence=sequence, start=start, end=end, num_drawn=num_drawn, num_cut=num_cut)


@njit
def _select(
    borders, maskable_T, starts_word_T, keys_S, budgets_S, value_K, other_K, threshold_K, min_words, by_token, strict,
    capacity,
):  # fmt: skip
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
            # a round owns two counters, its length and its anchor; the length of a void round is never looked at
            t = first + below(key, counter + 1, last - first)
            if not is_anchor(t, first, maskable_T, starts_word_T, hidden_T, by_token):
                counter += 2
                void += 1
                if void < MAX_VOID:
                    continue
                t = counted_anchor(first, last, maskable_T, starts_word_T, hidden_T, by_token, key, counter + 1)
            void = 0
            words_left = min_words + draw(value_K, other_K, threshold_K, mix(key, counter))
            counter += 2
            num_drawn += 1
            while t > first and not starts_word_T[t] and maskable_T[t - 1]:
                t -= 1
            while t < last and maskable_T[t]:
                if not hidden_T[t]:
                    if num_hidden == limit:
                        num_cut += not strict
                        break
                    hidden_T[t] = 1
                    num_hidden += 1
                t += 1
                if t < last and starts_word_T[t]:
                    words_left -= 1
                    if words_left == 0 or num_hidden >= budget:
                        break
        room -= num_hidden
    sequence, start, end = runs(hidden_T, borders, capacity - room)
    return sequence, start, end, num_drawn, num_cut
