"""Where a span of a sequence can begin: every word start, or every token.

No list of words is made: a place of the sequence is drawn, and the draw is void unless a visible word starts there.
What remains is uniform over the visible word starts, at a cost that does not grow with the length. After `MAX_VOID`
void draws in a row a scheme calls `counted_anchor`, which draws among the anchors alone: that is the law of drawing
until one is not void, so nothing changes but the number of draws, which is bounded.

Letters: T tokens in the pack.
"""

from __future__ import annotations

import numpy as np

from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below

MAX_VOID = 32


@njit(inline="always")
def is_anchor(t, first, maskable_T, starts_word_T, hidden_T, by_token):
    """Whether a span may begin at t: visible, and the start of a word. A token after a special starts a word."""
    # no short circuits: which token starts a word can't be predicted, so a branch costs more than the reads
    starts = by_token | starts_word_T[t] | (t == first) | (not maskable_T[t - 1])
    return (hidden_T[t] == 0) & maskable_T[t] & starts


@njit
def counted_anchor(first, last, maskable_T, starts_word_T, hidden_T, by_token, key, counter):
    """Return one of the anchors of the tokens [first, last), all alike; there must be one."""
    num_anchors = 0
    for t in range(first, last):
        num_anchors += is_anchor(t, first, maskable_T, starts_word_T, hidden_T, by_token)
    skip = below(key, counter, num_anchors)
    for t in range(first, last):
        if is_anchor(t, first, maskable_T, starts_word_T, hidden_T, by_token):
            if skip == 0:
                return t
            skip -= 1
    return np.int64(-1)  # not reached while a token is visible
