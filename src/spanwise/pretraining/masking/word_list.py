"""Words as array code sees them, and the one way to hide some of them.

Letters: T tokens in the pack, W words of one sequence.
"""

from __future__ import annotations

import numpy as np

from spanwise.runtime.compiled import njit

LONE = 1
"""The mark of a hidden token whose span belongs to no group; 0 marks a visible token."""
NO_BUDGET = 1 << 62
"""Given as a budget where a span is hidden to its end, whatever is hidden already."""


@njit
def no_marks(num_tokens):
    """Return the marks of T tokens that are all visible, int32 [T]."""
    return np.zeros(num_tokens, dtype=np.int32)


@njit
def word_starts(borders, maskable_T, starts_word_T):
    """Return where words begin, bool [T]: maskable tokens that start a word, follow a special or begin a sequence."""
    words_T = np.zeros(len(maskable_T), dtype=np.bool_)
    for t in range(1, len(maskable_T)):  # no branch: the compiler makes it many tokens at a time
        words_T[t] = maskable_T[t] & (starts_word_T[t] | (not maskable_T[t - 1]))
    for border in borders:
        if border < len(maskable_T):
            words_T[border] = maskable_T[border]
    return words_T


@njit
def longest_sequence(borders):
    """Return how many tokens the longest sequence of a pack has: room for any list of its words."""
    longest = np.int64(0)
    for s in range(len(borders) - 1):
        longest = max(longest, borders[s + 1] - borders[s])
    return longest


@njit
def list_words(first, last, maskable_T, words_T, start_W, end_W):
    """Write the words of the tokens [first, last) to start_W and end_W, half-open, and return how many there are.

    Words that touch have `end_W[w] == start_W[w + 1]`; between others lies a special.
    """
    num_words = 0
    for t in range(first, last):
        if words_T[t]:
            start_W[num_words] = t
            num_words += 1
        if maskable_T[t]:
            end_W[num_words - 1] = t + 1
    return num_words


@njit
def hide(start, end, words_T, budget, limit, num_hidden, marks_T, mark):
    """Mark the visible tokens of [start, end), word by word until `budget` tokens are hidden, and never more than
    `limit`. Return how many are hidden now, and whether the limit left some of them visible."""
    for t in range(start, end):
        if num_hidden >= budget and words_T[t] and t > start:
            break
        if not marks_T[t]:
            if num_hidden == limit:
                return num_hidden, True
            marks_T[t] = mark
            num_hidden += 1
    return num_hidden, False
