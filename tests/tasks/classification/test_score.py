"""Metrics equal to scikit-learn and scipy, and defined where those are not."""

import random

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from spanwise.errors import DataError
from spanwise.tasks.classification.score import label_scores, number_scores, set_scores


@pytest.mark.parametrize("seed", range(8))
def test_scores_of_labels_are_those_of_scikit_learn(seed):
    draw = random.Random(seed)
    names = ["0", "1"] if seed % 2 else ["a", "b", "c", "d"]
    gold = [draw.choice(names) for _ in range(60)]
    told = [draw.choice([g, *names[: 1 + seed % 3]]) for g in gold]
    found = label_scores(gold, told)
    assert found["accuracy"] == pytest.approx(100 * metrics.accuracy_score(gold, told))
    assert found["mcc"] == pytest.approx(100 * metrics.matthews_corrcoef(gold, told))
    assert found["macro_f1"] == pytest.approx(100 * metrics.f1_score(gold, told, average="macro", zero_division=0))
    assert ("f1" in found) == (names[0] == "0")
    if "f1" in found:
        assert found["f1"] == pytest.approx(100 * metrics.f1_score(gold, told, pos_label="1", zero_division=0))
        assert found["accuracy_and_f1"] == pytest.approx((found["accuracy"] + found["f1"]) / 2)


def test_an_example_without_prediction_is_wrong_and_no_label_of_its_own():
    gold, told = ["1", "0", "1", "1"], ["1", "0", "", "0"]
    found = label_scores(gold, told)
    assert found["accuracy"] == 50.0
    expected = metrics.f1_score(gold, told, labels=["0", "1"], average=None, zero_division=0)
    assert found["f1"] == pytest.approx(100 * expected[1])
    assert found["macro_f1"] == pytest.approx(100 * expected.mean())


def test_labels_of_one_kind_alone_have_no_correlation():
    found = label_scores(["1", "1"], ["1", "1"])
    assert found == {"accuracy": 100.0, "macro_f1": 100.0, "mcc": 0.0, "f1": 100.0, "accuracy_and_f1": 100.0}
    assert label_scores(["0", "0"], ["0", "0"])["f1"] == 0.0
    assert label_scores(["false", "true"], ["true", "true"])["f1"] == pytest.approx(200 / 3)
    assert label_scores([], [])["accuracy"] == 0.0


def test_scores_of_numbers_are_those_of_scipy_and_zero_for_constants():
    draw = np.random.default_rng(1)
    gold = draw.integers(0, 6, 50).astype(float).tolist()
    told = (np.array(gold) + draw.normal(size=50)).tolist()
    found = number_scores(gold, told)
    assert found["pearson"] == pytest.approx(100 * stats.pearsonr(gold, told)[0])
    assert found["spearman"] == pytest.approx(100 * stats.spearmanr(gold, told)[0])
    assert found["pearson_and_spearman"] == pytest.approx((found["pearson"] + found["spearman"]) / 2)
    assert number_scores([1.0, 1.0], [0.1, 0.2])["pearson"] == 0.0 == number_scores([1.0], [0.3])["spearman"]


def test_scores_of_sets_are_those_of_scikit_learn():
    draw = random.Random(5)
    names = ["a", "b", "c"]
    gold = [{name for name in names if draw.random() < 0.5} for _ in range(40)]
    told = [{name for name in names if draw.random() < 0.5} for _ in range(40)]
    as_table = [[[int(name in labels) for name in names] for labels in sets] for sets in (gold, told)]
    found = set_scores(gold, told)
    assert found["micro_f1"] == pytest.approx(100 * metrics.f1_score(*as_table, average="micro"))
    assert found["macro_f1"] == pytest.approx(100 * metrics.f1_score(*as_table, average="macro"))
    assert found["exact_match"] == pytest.approx(100 * metrics.accuracy_score(*as_table))
    assert set_scores([set()], [set()]) == {"micro_f1": 0.0, "macro_f1": 0.0, "exact_match": 100.0}


@pytest.mark.parametrize("score", [label_scores, number_scores, set_scores])
def test_lists_of_two_lengths_are_refused(score):
    with pytest.raises(DataError, match="1 predictions came for 2 examples"):
        score([{"a"}, {"b"}], [{"a"}])
