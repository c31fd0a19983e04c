"""Find the spans of words that recur in a sequence, the longest first.

Source: Ram et al. 2021 (Splinter), section 3. Letters: W words of the sequence, O occurrences, G groups, V vocabulary.
"""

from __future__ import annotations

import numpy as np

from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import mix


@njit
def recurring(start_W, end_W, ids_T, is_frequent_V, unk_id, max_words):
    """Find the recurring spans of one sequence of W words.

    Returns (first word [O], number of words [O], borders [G+1]) of O occurrences in G groups, longest spans first;
    group g has the occurrences borders[g] to borders[g + 1], in order. Occurrences are disjoint, at least two a group;
    words are equal where 64-bit hashes of their tokens are.
    """
    num_words = len(start_W)
    hash_W, is_rare_W = _hashes(start_W, end_W, ids_T, is_frequent_V, unk_id)
    next_, longest = _chains(start_W, end_W, hash_W, max_words)
    first_O, size_O = np.empty(num_words, dtype=np.int64), np.empty(num_words, dtype=np.int64)
    border_G = np.zeros(num_words + 1, dtype=np.int64)
    is_taken_W = np.zeros(num_words, dtype=np.bool_)
    is_later_W = np.empty(num_words, dtype=np.bool_)  # already looked at as a later occurrence
    num_found, num_groups = 0, 0
    for n in range(longest, 0, -1):
        is_later_W[:] = False
        for earliest in range(num_words):
            w, free_from = int(earliest), 0
            if is_later_W[earliest] or next_[n, earliest] < 0:
                continue
            while w >= 0:
                is_later_W[w] = True
                if w >= free_from and not is_taken_W[w : w + n].any() and is_rare_W[w : w + n].any():
                    first_O[num_found], size_O[num_found] = w, n
                    num_found += 1
                    free_from = w + n
                w = next_[n, w]
            if num_found - border_G[num_groups] < 2:
                num_found = border_G[num_groups]
                continue
            for o in range(border_G[num_groups], num_found):
                is_taken_W[first_O[o] : first_O[o] + n] = True
            num_groups += 1
            border_G[num_groups] = num_found
    return first_O[:num_found], size_O[:num_found], border_G[: num_groups + 1]


@njit
def _hashes(start_W, end_W, ids_T, is_frequent_V, unk_id):
    """Return a hash of the tokens of each word, uint64 [W], and whether one of them is rare, bool [W]."""
    hash_W = np.zeros(len(start_W), dtype=np.uint64)
    is_rare_W = np.zeros(len(start_W), dtype=np.bool_)
    for w in range(len(start_W)):
        for t in range(start_W[w], end_W[w]):
            token = ids_T[t]
            hash_W[w] = mix(hash_W[w], token)
            if token == unk_id:
                hash_W[w] = mix(hash_W[w], start_W[w] + 1)  # equals nothing
            elif token >= len(is_frequent_V) or not is_frequent_V[token]:
                is_rare_W[w] = True
    return hash_W, is_rare_W


@njit
def _chains(start_W, end_W, hash_W, max_words):
    """Return where the n words from each word on come again, int64 [max_words + 1, W], -1 where they don't, and the
    largest such n. A span recurs only if it does without its last word."""
    num_words = len(start_W)
    next_ = np.full((max_words + 1, num_words), -1, dtype=np.int64)
    length_W = np.zeros(num_words, dtype=np.int64)  # the longest n of each word
    span_W = hash_W.copy()
    size = 8  # of the table: a power of two of at least twice the words, so that a place is soon found
    while size < 2 * num_words:
        size *= 2
    table = np.empty(size, dtype=np.int64)
    last_W = np.empty(num_words, dtype=np.int64)
    longest = 0
    for n in range(1, max_words + 1):
        table[:] = -1
        for w in range(num_words):
            end = w + n - 1
            if length_W[w] < n - 1 or end >= num_words or (n > 1 and start_W[end] != end_W[end - 1]):
                continue
            if n > 1:
                span_W[w] = mix(span_W[w], n) ^ hash_W[end]
            slot = np.int64(span_W[w] >> np.uint64(1)) & (size - 1)
            while table[slot] >= 0 and span_W[table[slot]] != span_W[w]:
                slot = (slot + 1) & (size - 1)
            if table[slot] < 0:
                table[slot] = w
            else:
                next_[n, last_W[table[slot]]] = w
                length_W[table[slot]] = length_W[w] = longest = n
            last_W[table[slot]] = w
        if longest < n:
            break
    return next_, longest
