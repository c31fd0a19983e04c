"""Hide words in rounds until every sequence has met its budget: the loop that most schemes share.

A round draws a place of the sequence and, where the scheme has a law of lengths, a number of words. A place where no
visible word starts (no visible token stands) voids the round, length included; what remains is uniform over the
visible word starts. No list of words is made. After `MAX_VOID` void rounds in a row the next one draws among the
anchors alone: that is the law of drawing until a round is not void, so nothing changes but the number of rounds, which
is bounded.

Round r of a sequence owns the counters r (one draw a round) or 2r and 2r + 1 (length and place), void or not, so the
places of many rounds are drawn at once and the void ones dropped without a branch.
Letters: T tokens in the pack, S sequences, K columns of a law, R rounds drawn at once.

Source: the released code of SpanBERT, spec FAMILY section 1.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spanwise.pretraining.masking.alias import AliasTable, draw
from spanwise.pretraining.masking.base import checked_capacity, checked_ratio, sequence_budgets
from spanwise.pretraining.masking.bits import (
    add_all,
    bits_of,
    border_bits,
    holds,
    no_bits,
    num_missing,
    runs_of,
    word_bits,
    word_end,
    word_start,
)
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below, high_product, mix

MAX_VOID = 32
"""Void rounds in a row after which a round draws among the anchors alone."""
_SPARE_ROUNDS = 8  # drawn beyond what a sequence is likely to need
_ONE_LENGTH = AliasTable.from_weights(np.ones(1))


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """What a scheme's rounds are like."""

    ratio: float  # of a sequence's maskable tokens
    lengths: AliasTable | None = None  # law of the number of words, counted from min_words; None: always one
    min_words: int = 1
    anchors: str = "words"  # a round draws "words" (a visible word start) or "tokens" (any visible token)
    unit: str = "words"  # what it hides: "words" from that place's word on, or one "tokens"
    end: str = "words"  # finish the last word (overshoot), or stop at the "budget" inside it

    def select(self, pack: Pack, keys: np.ndarray, capacity: int | None) -> Spans:
        """Return the spans of a pack; keys uint64 [S]. See `MaskingScheme.select`."""
        share = checked_ratio(self.ratio)
        budgets_S = sequence_budgets(pack.borders, pack.maskable, share.numerator, share.denominator)
        law = self.lengths or _ONE_LENGTH
        sequence, start, end, num_drawn, num_cut = _select(
            pack.borders,
            pack.maskable,
            pack.starts_word,
            keys,
            budgets_S,
            law.columns,
            self.min_words,
            1 if self.lengths is None else 2,
            self.anchors == "tokens",
            self.unit == "tokens",
            self.end == "budget",
            checked_capacity(capacity, budgets_S),
        )
        return Spans(sequence=sequence, start=start, end=end, num_drawn=num_drawn, num_cut=num_cut)


@njit
def _select(
    borders, maskable_T, starts_word_T, keys_S, budgets_S, law, min_words, draws_a_round,
    by_token, one_token, strict, capacity,
):  # fmt: skip
    first_tokens = border_bits(borders)
    maskable = bits_of(maskable_T)
    words = word_bits(maskable, bits_of(starts_word_T), first_tokens)
    gaps = ~maskable | first_tokens
    anchors = maskable if by_token else words
    hidden = no_bits(borders[-1])
    most_rounds = (budgets_S.max() if len(budgets_S) else 0) + _SPARE_ROUNDS
    bits_R = np.empty(most_rounds, dtype=np.uint64)
    rounds_R, places_R = np.empty(most_rounds + 1, dtype=np.int64), np.empty(most_rounds + 1, dtype=np.int64)
    reserved = budgets_S.sum()
    room = capacity
    num_drawn, num_cut = 0, 0
    for s in range(len(budgets_S)):
        budget, key = budgets_S[s], keys_S[s]
        first, last = borders[s], borders[s + 1]
        reserved -= budget
        limit = budget if strict else room - reserved
        at_once = (budget if draws_a_round == 1 else budget >> 2) + _SPARE_ROUNDS
        num_hidden, following, last_round = 0, 0, -1
        while num_hidden < budget:
            num_anchors = _anchors_of_rounds(
                key, draws_a_round, following, at_once, first, last, anchors, bits_R, rounds_R, places_R
            )
            following += at_once
            rounds_R[num_anchors], places_R[num_anchors] = following, first  # not drawn yet: only its number is read
            for i in range(num_anchors + 1):
                r, t = rounds_R[i], places_R[i]
                too_many_void = r - last_round > MAX_VOID
                if too_many_void:
                    r = last_round + 1 + MAX_VOID
                    t = _counted_anchor(key, draws_a_round * (r + 1) - 1, first, last, anchors, hidden)
                    following = r + 1
                elif i == num_anchors or holds(hidden, t):
                    continue
                last_round = r
                num_drawn += 1
                num_words = 1
                if draws_a_round == 2:
                    num_words = min_words + draw(law, mix(key, 2 * r))
                start = word_start(words, t) if by_token and not one_token else t
                end = t + 1 if one_token else word_end(words, gaps, t, num_words)
                num_new = num_missing(hidden, start, end)
                if num_hidden + num_new <= budget:
                    add_all(hidden, start, end)
                else:
                    num_new, cut = _hide_last(hidden, words, start, end, budget - num_hidden, limit - num_hidden)
                    num_cut += cut and not strict
                num_hidden += num_new
                if num_hidden >= budget or too_many_void:
                    break
        room -= num_hidden
    sequence, start, end = runs_of(hidden, first_tokens, borders, capacity - room)
    return sequence, start, end, num_drawn, num_cut


@njit
def _anchors_of_rounds(key, draws_a_round, begin, count, first, last, anchors, bits_R, rounds_R, places_R):
    """Draw the places of `count` rounds and keep those where a round may begin; return how many they are."""
    for i in range(count):  # a loop of its own: the compiler makes it eight draws at a time
        bits_R[i] = mix(key, draws_a_round * (begin + i + 1) - 1)
    num_anchors = 0
    for i in range(count):
        t = first + np.int64(high_product(bits_R[i], np.uint64(last - first)))
        rounds_R[num_anchors], places_R[num_anchors] = begin + i, t
        num_anchors += holds(anchors, t)
    return num_anchors


@njit
def _counted_anchor(key, counter, first, last, anchors, hidden):
    """Return one of the visible anchors of the tokens [first, last), all alike; there must be one."""
    num_anchors = 0
    for t in range(first, last):
        num_anchors += holds(anchors, t) & (not holds(hidden, t))
    skip = below(key, counter, num_anchors)
    for t in range(first, last):
        if holds(anchors, t) and not holds(hidden, t):
            if skip == 0:
                return t
            skip -= 1
    return np.int64(-1)  # not reached while a token is visible


@njit
def _hide_last(hidden, words, start, end, to_budget, to_limit):
    """Hide [start, end) up to the word that meets the budget, and no more than `to_limit` tokens.

    Return how many were new, and whether the limit cut the span.
    """
    num_new = 0
    for t in range(start, end):
        if t > start and num_new >= to_budget and holds(words, t):
            break
        if holds(hidden, t):
            continue
        if num_new == to_limit:
            return num_new, True
        add_all(hidden, t, t + 1)
        num_new += 1
    return num_new, False
