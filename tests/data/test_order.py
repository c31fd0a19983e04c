"""Each epoch visits every row once, in an order of its own."""

from __future__ import annotations

import numpy as np
import pytest

from spanwise.data.order import permutation


@pytest.mark.parametrize("n", [0, 1, 2, 7, 10_007])
def test_an_order_visits_every_row_once(n):
    order = permutation(3, 1, n)

    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order), np.arange(n))


def test_an_order_never_changes_between_releases():
    assert permutation(0, 0, 10).tolist() == [9, 2, 5, 8, 7, 0, 6, 4, 3, 1]
    assert permutation(7, 3, 10).tolist() == [3, 1, 9, 0, 7, 8, 5, 4, 6, 2]


def test_seed_and_epoch_both_change_the_order():
    first = permutation(0, 0, 100).tolist()

    assert permutation(0, 1, 100).tolist() != first
    assert permutation(1, 0, 100).tolist() != first
    assert permutation(0, 0, 100).tolist() == first


def test_every_place_is_equally_likely():
    counts = np.zeros((6, 6))
    for epoch in range(6000):
        counts[np.arange(6), permutation(11, epoch, 6)] += 1

    assert np.abs(counts - 1000).max() < 4.5 * np.sqrt(6000 * (1 / 6) * (5 / 6))


def test_a_negative_count_is_refused():
    with pytest.raises(ValueError, match="-1"):
        permutation(0, 0, -1)
