"""The words of a sequence as a list, for schemes that visit each of them.

Letters: T tokens in the pack, W words of one sequence.
"""

from __future__ import annotations

import numpy as np

from spanwise.runtime.compiled import njit


@njit
def longest_sequence(borders):
    """Return how many tokens the longest sequence of a pack has: room for any list of its words."""
    longest = np.int64(0)
    for s in range(len(borders) - 1):
        longest = max(longest, borders[s + 1] - borders[s])
    return longest


@njit
def list_words(first, last, maskable_T, starts_word_T, start_W, end_W):
    """Write the words of the tokens [first, last) to start_W and end_W, half-open, and return how many there are.

    A token after a special starts a word. Words that touch have `end_W[w] == start_W[w + 1]`; between others lies a
    special.
    """
    num_words = 0
    inside = False
    for t in range(first, last):
        if maskable_T[t]:
            if starts_word_T[t] or not inside:
                start_W[num_words] = t
                num_words += 1
            end_W[num_words - 1] = t + 1
        inside = maskable_T[t]
    return num_words


@njit
def hide(start, end, num_hidden, limit, hidden_T):
    """Hide the tokens [start, end) until `limit` are hidden; return the number hidden now, and whether some are not.

    Tokens that are hidden already do not count.
    """
    for t in range(start, end):
        if not hidden_T[t]:
            if num_hidden == limit:
                return num_hidden, True
            hidden_T[t] = 1
            num_hidden += 1
    return num_hidden, False
