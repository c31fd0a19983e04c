"""Losses by document: means, errors and paired changes."""

import math

import numpy as np
import pytest

from spanwise.adapt.measure import CLUSTER_CHARACTERS, Losses, change, clusters_of, forward_seconds
from spanwise.interop.huggingface import read_folder
from spanwise.text.corpus import Document
from spanwise.training.statistics import clustered_mean, paired_difference, standard_error


def losses_of(values_N, clusters_N, characters=None):
    counts = np.bincount(clusters_N)
    return Losses(
        sums={"mlm": np.bincount(clusters_N, weights=values_N).tolist()},
        targets={"mlm": counts.tolist()},
        characters=characters or counts.tolist(),
        weights={"mlm": 1.0},
    )


def test_sums_by_cluster_give_the_mean_and_the_error_of_single_tokens():
    values, clusters = np.sin(np.arange(200)) + 3.0, np.arange(200) % 11
    expected = clustered_mean(values, clusters)
    losses = losses_of(values, clusters)
    assert losses.mean("token") == pytest.approx(expected.value)
    assert standard_error(losses.residuals("token")) == pytest.approx(expected.standard_error)
    assert losses.residuals("token").sum() == pytest.approx(0.0, abs=1e-12)


def test_a_change_is_paired_and_above_zero_where_it_became_better():
    clusters = np.arange(200) % 11
    before, after = np.sin(np.arange(200)) + 3.0, np.sin(np.arange(200)) + 2.9 + 0.01 * np.cos(np.arange(200))
    expected = paired_difference(after, before, clusters, better="lower")
    found = change(losses_of(before, clusters), losses_of(after, clusters), "token")
    assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert found.low > 0.09


def test_objectives_weigh_as_in_training_and_one_without_targets_counts_for_nothing():
    losses = Losses(
        sums={"mlm": [4.0, 6.0], "sbo": [3.0, 3.0], "other": [0.0, 0.0]},
        targets={"mlm": [2, 3], "sbo": [1, 2], "other": [0, 0]},
        characters=[10, 15],
        weights={"mlm": 1.0, "sbo": 0.5, "other": 1.0},
    )
    assert losses.parts("token") == {"mlm": 2.0, "sbo": 2.0}
    assert losses.mean("token") == 3.0
    assert losses.parts("character") == {"mlm": pytest.approx(0.4), "sbo": pytest.approx(0.24)}


def test_one_cluster_has_no_error_and_proves_nothing():
    one = losses_of(np.array([3.0, 4.0]), np.array([0, 0]))
    found = change(one, one, "token")
    assert math.isnan(found.low) and not found.low > 0


def test_short_documents_are_put_together_and_long_ones_stand_alone():
    sizes = [100, 700, 300, 300, 300, 50]
    documents = [Document("", 0, ["x" * size]) for size in sizes]
    counts = clusters_of(documents)
    assert counts == [2, 4] and sum(counts) == len(sizes)
    assert clusters_of(documents[1:2] * 3) == [1, 1, 1] and CLUSTER_CHARACTERS == 600
    assert clusters_of(documents[:1]) == [1] and clusters_of([]) == []


def test_a_forward_token_takes_some_time(start):
    assert 0 < forward_seconds(read_folder(start), "cpu") < 0.1
