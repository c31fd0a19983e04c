"""Means and paired differences over seeds are scipy's, and what is missing is told and never left out."""

import numpy as np
import pytest
from scipy import stats

from spanwise.studies.statistics import NO_SPREAD, SeedValues, seed_difference, seed_mean


def column(values, missing=None):
    return SeedValues(values=dict(enumerate(values)), missing=missing or {})


@pytest.mark.parametrize("num_seeds", [2, 3, 5, 12])
def test_mean_and_paired_interval_are_those_of_scipy(num_seeds):
    draw = np.random.default_rng(num_seeds)
    a = draw.normal(70, 3, num_seeds)
    b = a - draw.normal(0.5, 1, num_seeds)
    found = seed_difference(column(a), column(b), better="higher")
    interval = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert (found.mean, found.low, found.high) == pytest.approx(((a - b).mean(), interval.low, interval.high))
    mean = seed_mean(column(a))
    low, high = stats.t.interval(0.95, num_seeds - 1, a.mean(), stats.sem(a))
    assert (mean.mean, mean.deviation, mean.low, mean.high) == pytest.approx((a.mean(), a.std(ddof=1), low, high))


@pytest.mark.parametrize(
    ("ours", "other", "better", "verdict"),
    [
        ([5.0, 5.1, 5.2], [4.0, 4.1, 4.3], "higher", "better"),
        ([5.0, 5.1, 5.2], [4.0, 4.1, 4.3], "lower", "worse"),
        ([4.0, 4.1, 4.2], [5.0, 5.1, 5.3], "lower", "better"),
        ([4.0, 5.0, 6.0], [5.0, 5.0, 5.0], "higher", "holds zero"),
    ],
)
def test_the_verdict_knows_which_direction_is_better(ours, other, better, verdict):
    assert seed_difference(column(ours), column(other), better=better).verdict == verdict


def test_differences_that_are_equal_in_all_seeds_have_no_interval():
    found = seed_difference(column([5.0, 5.1, 5.2]), column([4.0, 4.1, 4.2]), better="higher")
    assert found.mean == pytest.approx(1.0) and found.low is None and found.verdict is None and found.why == NO_SPREAD


def test_a_seed_that_is_missing_takes_the_mean_and_the_difference_with_it():
    broken = column([1.0, 2.0], {2: "hot-2 diverged"})
    whole = column([1.0, 2.0, 3.0])
    assert seed_mean(broken).mean is None
    assert seed_mean(broken).why == "seed 2: hot-2 diverged"
    found = seed_difference(whole, broken, better="higher")
    assert (found.mean, found.verdict) == (None, None) and "hot-2 diverged" in found.why


def test_a_column_without_any_value_says_one_reason_once():
    none = SeedValues(values={}, missing={0: "not measured yet", 1: "not measured yet"})
    assert seed_mean(none).why == "not measured yet"


def test_one_seed_has_a_mean_and_no_interval():
    assert seed_mean(column([3.0])).mean == 3.0
    found = seed_difference(column([3.0]), column([1.0]), better="higher")
    assert (found.mean, found.low, found.verdict) == (2.0, None, None) and "one seed" in found.why
