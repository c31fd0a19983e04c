"""Standard errors count clusters, intervals are honest, and the words follow the interval."""

import numpy as np
import pytest

from spanwise.training.statistics import clustered_mean, paired_difference


def test_items_that_are_their_own_cluster_give_the_textbook_standard_error():
    values = np.random.default_rng(1).normal(size=50)

    estimate = clustered_mean(values, np.arange(50))

    assert estimate.value == pytest.approx(values.mean())
    assert estimate.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(50))


def test_copies_of_an_item_in_one_cluster_do_not_shrink_the_standard_error():
    values = np.random.default_rng(2).normal(size=30)

    once = clustered_mean(values, np.arange(30))
    copied = clustered_mean(np.repeat(values, 7), np.repeat(np.arange(30), 7))

    assert copied.standard_error == pytest.approx(once.standard_error)
    assert copied.num_clusters == 30


def test_an_interval_that_holds_zero_is_not_above_control():
    noise = np.random.default_rng(3).normal(size=200)

    assert paired_difference(noise, np.zeros(200), np.arange(200)).verdict == "not above control"
    assert paired_difference(noise + 1, noise, np.arange(200) // 4).verdict == "above control"
    assert paired_difference(noise - 1, noise + noise / 9, np.arange(200)).verdict == "below control"


def test_for_losses_a_lower_value_is_the_gain():
    ours, control = np.array([1.0, 2.0, 1.5, 1.0]), np.array([2.0, 3.0, 2.6, 1.9])

    difference = paired_difference(ours, control, np.arange(4), better="lower")

    assert difference.value == pytest.approx(1.0)
    assert difference.low < 1.0 < difference.high
    assert difference.verdict == "above control"


def test_95_percent_intervals_hold_the_truth_about_95_times_in_100():
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(600):
        effect = rng.normal(size=12)[:, None]  # shared inside a cluster
        values = (0.3 + effect + rng.normal(size=(12, 5))).ravel()
        interval = paired_difference(values, np.zeros(60), np.repeat(np.arange(12), 5))
        hits += interval.low <= 0.3 <= interval.high

    assert 0.92 <= hits / 600 <= 0.98


def test_one_cluster_has_no_interval_and_is_never_called_above_control():
    difference = paired_difference(np.array([5.0, 6.0]), np.zeros(2), np.zeros(2))

    assert np.isnan([difference.low, difference.high]).all()
    assert difference.verdict == "not above control"
    assert np.isnan(clustered_mean(np.empty(0), np.empty(0)).value)


def test_values_and_clusters_of_different_length_are_refused():
    with pytest.raises(ValueError, match="equally long"):
        clustered_mean(np.zeros(3), np.zeros(4))
