"""Entity scores equal to seqeval, tag scores to scikit-learn."""

import random
import warnings

import pytest
from seqeval import metrics
from sklearn.metrics import f1_score

from spanwise.errors import DataError
from spanwise.tasks.tagging.score import entity_scores, unit_scores
from spanwise.tasks.tagging.spans import spans_of


def drawn(seed, num_sentences=30):
    draw = random.Random(seed)
    names = ["O", "O", *(f"{k}-{t}" for k in "BI" for t in ("PER", "LOC", "ORG"))]
    gold = [[draw.choice(names) for _ in range(draw.randint(1, 9))] for _ in range(num_sentences)]
    told = [[draw.choice([tag, tag, draw.choice(names)]) for tag in tags] for tags in gold]
    return gold, told


@pytest.mark.parametrize("seed", range(6))
def test_entity_scores_are_those_of_seqeval(seed):
    gold, told = drawn(seed)
    found = entity_scores([spans_of(tags) for tags in gold], [spans_of(tags) for tags in told])
    for name, function in (
        ("f1", metrics.f1_score),
        ("precision", metrics.precision_score),
        ("recall", metrics.recall_score),
    ):
        assert found[name] == pytest.approx(100 * function(gold, told))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found["macro_f1"] == pytest.approx(100 * metrics.f1_score(gold, told, average="macro"))
        report = metrics.classification_report(gold, told, output_dict=True)
    for name in ("PER", "LOC", "ORG"):
        assert found[name]["f1"] == pytest.approx(100 * report[name]["f1-score"])


def test_nothing_found_and_nothing_to_find_are_scored():
    nothing = entity_scores([[], []], [[], []])
    assert nothing == {"f1": 0.0, "precision": 0.0, "recall": 0.0, "macro_f1": 0.0}
    with pytest.raises(DataError, match="1 tagged sentences came for 2"):
        entity_scores([[], []], [[]])


def test_tags_one_by_one_are_scored_as_scikit_learn_does():
    gold, told = ([tag for tags in side for tag in tags] for side in drawn(9))
    found = unit_scores(gold, told)
    assert found["macro_f1"] == pytest.approx(100 * f1_score(gold, told, average="macro", zero_division=0))
    assert set(found) == {"accuracy", "macro_f1"}
