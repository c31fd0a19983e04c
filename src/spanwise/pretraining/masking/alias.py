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


@dataclass(frozen=True, kw_only=True, eq=False)
class AliasTable:
    """K columns: below `threshold` lies `value`, above it `other`. Values of weight zero are in no column."""

    value: np.ndarray  # [K] int64
    other: np.ndarray  # [K] int64
    threshold: np.ndarray  # [K] uint64: the share of `value` in its column, times 2**64

    @classmethod
    def from_weights(cls, weights: np.ndarray) -> AliasTable:
        """Build the table that draws index i with chance `weights[i] / weights.sum()`; weights finite, 0 or more."""
        weights = np.asarray(weights, dtype=np.float64)
        values_K = np.flatnonzero(weights > 0)
        if not len(values_K) or not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError("a law needs finite weights of 0 or more, at least one of them above 0")
        column_K, share_K = _columns(weights[values_K])
        threshold_K = np.minimum(np.floor(share_K * 2.0**64), 2.0**64 - 2**11).astype(np.uint64)
        return cls(value=values_K, other=values_K[column_K], threshold=threshold_K)


@njit
def _columns(weights_K):
    num = len(weights_K)
    other_K = np.arange(num)
    share_K = weights_K * (num / weights_K.sum())
    small, large = np.empty(num, dtype=np.int64), np.empty(num, dtype=np.int64)
    num_small, num_large = 0, 0
    for i in range(num):
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
    return other_K, share_K


@njit
def draw(value_K, other_K, threshold_K, bits):
    """Return the value that 64 random bits pick."""
    num = np.uint64(len(value_K))
    column = np.int64(high_product(bits, num))
    if bits * num < threshold_K[column]:
        return value_K[column]
    return other_K[column]
