"""Where a span of a sequence can begin: every word start, or every token.

Letters: T tokens in the pack.
"""

from __future__ import annotations

import numpy as np

from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below


@njit
def list_anchors(anchors, first, last, maskable_T, starts_word_T, by_token):
    """Fill `anchors` with the places of one sequence where a word starts, or with all its tokens; return their count.

    A token after a special starts a word, whatever its piece looks like.
    """
    num, inside = 0, False
    for t in range(first, last):  # no branch: which token starts a word cannot be predicted
        anchors[num] = t
        num += maskable_T[t] & (by_token | starts_word_T[t] | (not inside))
        inside = maskable_T[t]
    return num


@njit
def visible_anchor(anchors, num_anchors, hidden_T, key, counter):
    """Draw among the anchors that are not hidden yet; there must be one."""
    num_visible = 0
    for a in range(num_anchors):
        num_visible += not hidden_T[anchors[a]]
    skip = below(key, counter, num_visible)
    for a in range(num_anchors):
        if not hidden_T[anchors[a]]:
            if skip == 0:
                return anchors[a]
            skip -= 1
    return np.int64(-1)
