"""Hide words in rounds until every sequence has met its budget: the loop that most schemes share.

A round draws a place of the sequence and, where the scheme has a law of lengths, a number of words. A place where no
visible word starts (no visible token stands) voids the round, length included; what remains is uniform over the
visible word starts. After `MAX_VOID` void rounds in a row the next one draws among the anchors alone: that is the law
of drawing until a round is not void, so nothing changes but the number of rounds, which is bounded.

Round r of a sequence owns the counters r (one draw a round) or 2r and 2r + 1 (length and place), void or not.
Letters: T tokens in the pack, S sequences, K columns of a law.

Source: the released code of SpanBERT; Devlin et al. 2019 (BERT), section 3.1, and Google's release of 2019 for the
schemes of single pieces and whole words.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from spanwise.config import part
from spanwise.config.ranges import Share
from spanwise.pretraining.masking.alias import AliasTable, draw
from spanwise.pretraining.masking.base import mask_by
from spanwise.pretraining.masking.merge import LONE, hide, no_marks
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below, mix

MAX_VOID = 32
"""Void rounds in a row after which a round draws among the anchors alone."""
ONE_WORD = AliasTable(columns=np.array([[2**64 - 2**11, 0]], dtype=np.uint64))
"""The law of one length, written out: to build it at import would wake numba in every command."""


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """How a scheme's rounds draw, what they hide and where they end."""

    ratio: float  # of a sequence's maskable tokens
    lengths: AliasTable | None = None  # law of the number of words, counted from min_words; None: always one
    min_words: int = 1
    anchors: str = "words"  # a round draws "words" (a visible word start) or "tokens" (any visible token)
    unit: str = "words"  # what it hides: "words" from that place's word on, or one "tokens"
    end: str = "words"  # finish the last word (overshoot), or stop at the "budget" inside it

    def select(self, pack: Pack, keys: np.ndarray, capacity: int | None) -> Spans:
        """Return the spans of a pack; keys uint64 [S]. See `MaskingScheme.select`."""
        options = (
            (self.lengths or ONE_WORD).columns,
            self.min_words,
            1 if self.lengths is None else 2,
            self.anchors == "tokens",
            self.unit == "tokens",
            self.end == "budget",
        )
        return mask_by(_mark, pack, keys, self.ratio, capacity, *options)


@njit
def _mark(
    borders, maskable_T, words_T, keys_S, budgets_S, capacity, law, min_words, draws_a_round, by_token, one_token,
    strict,
):  # fmt: skip
    marks_T = no_marks(len(maskable_T))
    anchors_T = maskable_T if by_token else words_T
    room, reserved = capacity, budgets_S.sum()
    for s in range(len(budgets_S)):
        first, last, budget, key = borders[s], borders[s + 1], budgets_S[s], keys_S[s]
        reserved -= budget
        limit = budget if strict else room - reserved
        num_hidden, r, last_round = 0, -1, -1
        while num_hidden < budget:
            r += 1
            counter = draws_a_round * (r + 1) - 1
            if r - last_round > MAX_VOID:
                start = _counted_anchor(key, counter, first, last, anchors_T, marks_T)
            else:
                start = first + below(key, counter, last - first)
                if marks_T[start] or not anchors_T[start]:
                    continue
            last_round = r
            end = start + 1
            if not one_token:
                num_words = min_words + draw(law, mix(key, 2 * r)) if draws_a_round == 2 else 1
                while not words_T[start]:
                    start -= 1
                while end < last and maskable_T[end] and num_words - words_T[end] > 0:
                    num_words -= words_T[end]
                    end += 1
            num_hidden = hide(start, end, words_T, budget, limit, num_hidden, marks_T, LONE)
        room -= num_hidden
    return marks_T


@njit
def _counted_anchor(key, counter, first, last, anchors_T, marks_T):
    """Return one of the visible anchors of the tokens [first, last), all alike; there must be one."""
    num_anchors = 0
    for t in range(first, last):
        num_anchors += anchors_T[t] and not marks_T[t]
    skip = below(key, counter, num_anchors)
    for t in range(first, last):
        if anchors_T[t] and not marks_T[t]:
            if skip == 0:
                return t
            skip -= 1
    return np.int64(-1)  # not reached while a token is visible


@part("subword_tokens")
class SubwordTokens:
    """Hide exactly ceil(ratio * n) of a sequence's n maskable tokens, drawn without replacement."""

    ratio: Share = 0.15

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the hidden tokens as spans; neighbours are one span. See `MaskingScheme.select`."""
        # budgets are met exactly, so nothing is ever cut
        return Rounds(ratio=self.ratio, anchors="tokens", unit="tokens").select(pack, keys, capacity)


@part("whole_words")
class WholeWords:
    """Hide words, every word alike and none twice, until ceil(ratio * n) of a sequence's n tokens are hidden.

    Differs: Google's code skips a word that does not fit the rest of the budget, which hides long words less often;
    here the last word is finished (`end="words"`) or cut (`end="budget"`).
    """

    ratio: Share = 0.15
    end: Literal["words", "budget"] = "words"

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the hidden words as spans; neighbours are one span. See `MaskingScheme.select`."""
        return Rounds(ratio=self.ratio, end=self.end).select(pack, keys, capacity)
