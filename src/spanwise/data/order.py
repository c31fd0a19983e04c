"""The order in which an epoch visits its rows."""

import numpy as np

from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below, derive_key


@njit
def _shuffle(key, order_n):
    for i in range(len(order_n) - 1, 0, -1):
        j = below(key, i, i + 1)
        order_n[i], order_n[j] = order_n[j], order_n[i]


def permutation(seed: int, epoch: int, n: int) -> np.ndarray:
    """Return the numbers 0 to n - 1 in the order of this epoch, int64 [n]: a Fisher-Yates shuffle of counted draws."""
    if n < 0:
        raise ValueError(f"a permutation needs a count of 0 or more, got {n}")
    order_n = np.arange(n)
    _shuffle(np.uint64(derive_key(seed, "order", epoch)), order_n)
    return order_n
