"""Draw from any finite law in constant time: Walker's alias method.

Each of K equal columns holds at most two values; one multiplication of 64 random bits by K gives the column (upper
half) and the place inside it (lower half). Letters: K values with a probability above zero.

Source: Walker 1977; construction after Vose 1991.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import high_product

_LOW_32, _SHIFT_32 = np.uint64(0xFFFF_FFFF), np.uint64(32)


@dataclass(frozen=True, kw_only=True, eq=False)
class AliasTable:
    """K columns, each below its threshold one value and above it another; a value of weight zero is in no column.

    A column is two words that lie side by side, as a draw from a large law waits for memory and for little else.
    """

    columns: np.ndarray  # [K, 2] uint64: the share of `value` times 2**64; `value`, and `other` times 2**32

    @classmethod
    def from_weights(cls, weights: np.ndarray) -> AliasTable:
        """Build the table that draws index i with chance `weights[i] / weights.sum()`; weights finite, 0 or more."""
        weights = np.asarray(weights, dtype=np.float64)
        values_K = np.flatnonzero(weights > 0).astype(np.uint64)
        if not len(values_K) or not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError("a law needs finite weights of 0 or more, at least one of them above 0")
        num, weights_K = len(values_K), weights[values_K]
        total = np.cumsum(weights_K)[-1]  # in order, so that draws stay those of earlier releases
        column_K, share_K = np.arange(num), weights_K * (num / total)
        _fill_columns(column_K, share_K, np.empty((2, num), dtype=np.int64))
        threshold_K = np.minimum(np.floor(share_K * 2.0**64), 2.0**64 - 2**11).astype(np.uint64)
        return cls(columns=np.stack([threshold_K, values_K | (values_K[column_K] << _SHIFT_32)], axis=1))


@njit
def _fill_columns(other_K, share_K, waiting_2K):
    """Bring every column to one: a small one gets its rest of a large one. `waiting_2K` is room for both lists."""
    small, large = waiting_2K
    num_small, num_large = 0, 0
    for i in range(len(share_K)):
        if share_K[i] < 1.0:
            small[num_small] = i
            num_small += 1
        else:
            large[num_large] = i
            num_large += 1
    while num_small and num_large:
        num_small -= 1
        low, high = small[num_small], large[num_large - 1]
        other_K[low] = high
        share_K[high] -= 1.0 - share_K[low]
        if share_K[high] < 1.0:
            num_large -= 1
            small[num_small] = high
            num_small += 1
    # what is left differs from a whole column by rounding alone
    for i in range(num_small):
        share_K[small[i]] = 1.0
    for i in range(num_large):
        share_K[large[i]] = 1.0


@njit
def draw(columns, bits):
    """Return the value that 64 random bits pick."""
    num = np.uint64(len(columns))
    column = np.int64(high_product(bits, num))
    shift = _SHIFT_32 * np.uint64(bits * num >= columns[column, 0])  # no branch: it is as good as a coin
    return np.int64((columns[column, 1] >> shift) & _LOW_32)
