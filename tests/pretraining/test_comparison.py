"""Columns are compared on the same tokens, and words never claim more than the interval."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from spanwise.pretraining.baselines import HIDDEN, HiddenTokens, NeighbourBaseline
from spanwise.pretraining.comparison import baseline_scores, compare
from spanwise.pretraining.measure import TokenScores

N = 240


def make_facts():
    rng = np.random.default_rng(0)
    return HiddenTokens(
        original_ids=rng.integers(0, 9, N),
        sequence=np.arange(N) // 8,
        distance=np.tile([1, 2, 3, 4, 6, 5, 2, 1], N // 8),
        position=np.tile(np.arange(8), N // 8),
        left=np.full(N, HIDDEN),
        right=np.full(N, HIDDEN),
    )


def make_scores(seed, loss, hit, asked=None):
    rng = np.random.default_rng(seed)
    asked = np.ones(N, dtype=bool) if asked is None else asked
    losses = np.where(asked, loss + 0.1 * rng.normal(size=N), np.nan)
    return TokenScores(losses=losses, correct=asked & (rng.random(N) < hit), asked=asked)


def make_comparison():
    facts = make_facts()
    baseline = NeighbourBaseline(np.arange(9).repeat(3), np.zeros(27), vocab_size=9)
    asked = facts.position < 6
    models = {
        "control": {"mlm": make_scores(1, 3.0, 0.1), "sbo": make_scores(2, 3.0, 0.1, asked)},
        "trained": {"mlm": make_scores(3, 2.0, 0.5), "sbo": make_scores(4, 3.0, 0.1, asked)},
    }
    return compare(facts, baseline_scores(baseline, facts), models)


def test_every_measure_has_all_columns_with_standard_errors_and_is_json():
    comparison = make_comparison()

    keys = [record.key for record in comparison.measures]
    assert keys == [
        "mlm_loss", "sbo_loss", "mlm_accuracy", "sbo_accuracy", "mlm_edge_accuracy", "sbo_edge_accuracy"
    ]  # fmt: skip
    for record in comparison.measures:
        assert set(record.values) == {"unigram", "bigram", "control", "trained"}
        assert set(record.gains) == {"unigram", "bigram", "control"}
        assert all(value.se is not None for value in record.values.values())
    assert json.dumps([asdict(measure) for measure in comparison.measures], allow_nan=False)


def test_a_better_model_is_above_control_and_an_equal_one_is_not():
    verdicts = {record.key: record.gains["control"].verdict for record in make_comparison().measures}

    assert verdicts["mlm_loss"] == verdicts["mlm_accuracy"] == "above control"
    assert verdicts["sbo_loss"] == verdicts["sbo_accuracy"] == "not above control"


def test_only_asked_tokens_count():
    records = {record.key: record for record in make_comparison().measures}

    assert records["mlm_loss"].num_items == N
    assert records["sbo_loss"].num_items == N * 6 // 8
    assert records["mlm_edge_accuracy"].num_items == N * 2 // 8
    assert records["sbo_loss"].values["trained"].value == pytest.approx(3.0, abs=0.05)


def test_distances_of_five_and_more_are_one_group():
    groups = make_comparison().by_distance["mlm"]

    assert [group.distance for group in groups] == ["1", "2", "3", "4", "5+"]
    assert [group.num_items for group in groups] == [60, 60, 30, 30, 60]
