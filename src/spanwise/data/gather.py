"""Copying token ranges out of a mapped file, by compiled loops that release the interpreter lock.

Letters: k ranges, N tokens of the file.
"""

import numpy as np

from spanwise.runtime.compiled import njit


@njit
def bounds_error(starts, lengths, num_tokens):
    """The first of k ranges that is not inside [0, num_tokens], or -1."""
    for range_ in range(len(starts)):
        # no sum of the two: it could pass the largest integer
        if starts[range_] < 0 or lengths[range_] < 0 or lengths[range_] > num_tokens - starts[range_]:
            return range_
    return -1


@njit
def copy_ranges(ids, starts, lengths, places, out):
    """Copy k ranges of ids [N] to `places` [k] of `out`. Ranges must lie inside both."""
    for range_ in range(len(starts)):
        start, place = starts[range_], places[range_]
        for step in range(lengths[range_]):
            out[place + step] = ids[start + step]


def gather_ranges(ids, starts, lengths):
    """k ranges of ids [N] end to end, int64; empty where a range lies outside."""
    if bounds_error(starts, lengths, len(ids)) >= 0:
        return np.empty(0, dtype=np.int64)
    ends = np.cumsum(lengths)
    out = np.empty(ends[-1] if len(ends) else 0, dtype=np.int64)
    copy_ranges(ids, starts, lengths, ends - lengths, out)
    return out
