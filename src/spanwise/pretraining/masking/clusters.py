"""The clusters of a text: stretches of whole words that stand in it twice or more, the longest first.

Source: Ram et al. 2021 (Splinter), section 3.1, and the released code: all n-grams of 1 to 10 pieces that recur, those
inside longer ones too; longer ones are chosen first, a token belongs to one cluster, and a cluster is kept while two of
its occurrences are free.
Differs: every occurrence begins and ends at the border of a word, where the released code looks at the first alone;
occurrences of one cluster never overlap, as there they may (`a a a`); of clusters of one length the one that begins
first is chosen first, where the code goes by the first token of each.

Letters: n tokens of one sequence, V vocabulary, O occurrences, G clusters.
"""

import numpy as np

from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import mix

BREAKS, STOPS, TELLS = 0, 1, 2
"""What a token is to a cluster: none holds it, a stop word where it is a word alone, or any other token."""


@njit
def room_for(length, max_pieces):
    """Return the arrays that `find_clusters` works in and gives its answer in, for sequences of up to `length`."""
    size = np.int64(8)  # of the table of hashes: a power of two of at least twice the tokens
    while size < 2 * length:
        size *= 2
    columns = np.empty((5, length + 1), dtype=np.int64)
    return columns, np.empty((max_pieces + 1, length), dtype=np.int64), np.empty((2, size), dtype=np.int64)


@njit
def find_clusters(ids_n, maskable_n, words_n, kinds_V, max_pieces, room):
    """Find the clusters of one sequence: `words_n` says where words begin, `kinds_V` what each id is (an id beyond it
    tells).

    Returns (first token [O], number of tokens [O], borders [G+1]), which lie in `room` and hold until its next use:
    cluster g has the occurrences borders[g] to borders[g + 1], in order; clusters go from long to short.
    """
    columns, next_, table = room
    fitting_n, telling_n = columns[0], columns[1]
    first_O, size_O, border_G = columns[2], columns[3], columns[4]
    _read(ids_n, maskable_n, words_n, kinds_V, fitting_n, telling_n)
    longest = _chains(ids_n, words_n, fitting_n, max_pieces, next_, table, columns[2:])
    num_found, num_clusters, border_G[0] = 0, 0, 0
    is_taken_n = np.zeros(len(ids_n), dtype=np.bool_)
    for size in range(longest, 0, -1):
        chain = next_[size]
        for earliest in range(len(ids_n) - size + 1):
            if chain[earliest] == ALONE or not _is_span(earliest, earliest + size, maskable_n, words_n, telling_n):
                continue
            t, free_from = earliest, 0
            while t >= 0:
                end = t + size
                # what is taken is no shorter, so it can't lie inside
                is_free = t >= free_from and not (is_taken_n[t] or is_taken_n[end - 1])
                if is_free and _is_span(t, end, maskable_n, words_n, telling_n):
                    first_O[num_found], size_O[num_found] = t, size
                    num_found += 1
                    free_from = end
                chain[t], t = ALONE, chain[t]  # seen, as an occurrence of the earliest
            if num_found - border_G[num_clusters] < 2:
                num_found = border_G[num_clusters]
                continue
            for o in range(border_G[num_clusters], num_found):
                is_taken_n[first_O[o] : first_O[o] + size] = True
            num_clusters += 1
            border_G[num_clusters] = num_found
    return first_O[:num_found], size_O[:num_found], border_G[: num_clusters + 1]


@njit
def _is_span(t, end, maskable_n, words_n, telling_n):
    """Return whether tokens from the start of a word on end where a word ends, and are no row of stop words."""
    return telling_n[end] > telling_n[t] and (end == len(words_n) or words_n[end] or not maskable_n[end])


ALONE, LAST = -2, -1
"""In a chain: stands nowhere else, or not again behind this place."""


@njit
def _read(ids_n, maskable_n, words_n, kinds_V, fitting_n, telling_n):
    """Write how many tokens from each on a cluster may hold, and how many before each are no stop words, [n + 1]."""
    num_tokens, telling_n[0] = len(ids_n), 0
    for t in range(num_tokens):
        kind = kinds_V[ids_n[t]] if ids_n[t] < len(kinds_V) else TELLS
        ends = t + 1 == num_tokens or words_n[t + 1] or not maskable_n[t + 1]
        stops = kind == STOPS and words_n[t] and ends
        telling_n[t + 1] = telling_n[t] + (not stops)
        fitting_n[t] = maskable_n[t] and kind != BREAKS
    fitting_n[num_tokens] = 0
    for t in range(num_tokens - 1, -1, -1):
        if fitting_n[t]:
            fitting_n[t] += fitting_n[t + 1]


@njit
def _chains(ids_n, words_n, fitting_n, max_pieces, next_, table, scratch):
    """Write where the `size` tokens from each word's first on come again, for every size, and return the largest size
    that recurs. Tokens recur only if they do without their last one."""
    num_tokens, longest = len(ids_n), 0
    hash_n, recurring_n, last_n = scratch[0].view(np.uint64), scratch[1], scratch[2]
    mask = 8
    while mask < 2 * num_tokens:
        mask *= 2
    mask -= 1
    recurring_n[:num_tokens] = 0
    hash_n[:num_tokens] = 0
    slots = table[0, : mask + 1]
    for size in range(1, max_pieces + 1):
        slots[:] = -1
        chain = next_[size]
        for t in range(num_tokens):
            chain[t] = ALONE
            if not words_n[t] or fitting_n[t] < size or recurring_n[t] < size - 1:
                continue
            hash_n[t] = mix(hash_n[t], ids_n[t + size - 1])
            slot = np.int64(hash_n[t] >> np.uint64(1)) & mask
            while slots[slot] >= 0 and hash_n[slots[slot]] != hash_n[t]:
                slot = (slot + 1) & mask
            head = slots[slot]
            if head < 0:
                slots[slot] = head = t
            else:
                chain[last_n[head]], chain[t] = t, LAST
                recurring_n[head] = recurring_n[t] = longest = size
            last_n[head] = t
        if longest < size:
            break
    return longest
