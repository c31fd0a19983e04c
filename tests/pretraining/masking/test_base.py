"""Budgets are ceil(ratio * n), with the ratio read as the decimal that was written."""

from __future__ import annotations

import numpy as np
import pytest
from toy_packs import pack_of, packs_of

from spanwise.errors import ConfigError
from spanwise.pretraining.masking.base import budgets, checked_capacity, checked_ratio, num_maskable


@pytest.mark.parametrize(("n", "budget"), [(0, 0), (1, 1), (6, 1), (7, 2), (20, 3), (30, 5), (126, 19), (510, 77)])
def test_fifteen_percent_of_n_rounded_up(n, budget):
    assert budgets(0.15, np.array([n])).tolist() == [budget]


def test_up_to_512_tokens_the_exact_budget_is_that_of_floating_point():
    """Section 9: so parity with the released code holds although it rounds binary fractions."""
    n = np.arange(1, 513)

    np.testing.assert_array_equal(budgets(0.15, n), np.ceil(n * 0.15))


@pytest.mark.parametrize("num_special", [2, 3])
def test_googles_count_is_the_same_or_one_token_less(num_special):
    """Sections 6.1, 6.3, 6.4: max(1, round(.15 length)), specials counted; so no recipe needs a rounding of its own."""
    n = np.arange(1, 511)

    theirs = np.maximum(1, np.round(0.15 * (n + num_special)))

    assert set((budgets(0.15, n) - theirs).tolist()) == {0.0, 1.0}
    assert budgets(0.15, np.array([510, 509])).tolist() == [77, 77]  # as theirs at the longest length
    assert (budgets(0.15, n) - theirs).mean() < 0.2


def test_a_ratio_is_the_decimal_that_was_written():
    assert budgets(0.1, np.array([3, 30, 300])).tolist() == [1, 3, 30]
    assert budgets(0.7, np.arange(0, 101, 10)).tolist() == [7 * i for i in range(11)]


def test_budgets_count_maskable_tokens_of_each_sequence():
    assert budgets(0.15, num_maskable(packs_of(5, 20))).tolist() == [3] * 5
    assert num_maskable(pack_of([[], [0, 1, 2, 0], [], [1]])).tolist() == [0, 2, 0, 1]


@pytest.mark.parametrize("ratio", [-0.1, 1.1, float("nan")])
def test_a_ratio_outside_zero_to_one_is_refused(ratio):
    with pytest.raises(ConfigError, match="from 0 to 1"):
        checked_ratio(ratio)


def test_a_capacity_below_the_budgets_is_refused():
    assert checked_capacity(None, np.array([5])) > 10**12
    assert checked_capacity(5, np.array([2, 3])) == 5
    with pytest.raises(ConfigError, match="raise max_targets"):
        checked_capacity(4, np.array([2, 3]))
