"""The metrics of classification and regression, as scikit-learn and scipy compute them, from 0 to 100.

Source: Wang et al. 2018 (GLUE), section 3; Gorodkin 2004 for the correlation of more than two labels.
"""

import math
from collections import Counter
from collections.abc import Sequence, Set

from spanwise.errors import DataError

NOTHING = ""  # an example that was not answered
POSITIVE = ("1", "true")  # the second of two labels whose F1 is meant where only one is


def label_scores(gold: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """`accuracy`, `macro_f1` and `mcc`; where the labels are 0 and 1 (or false and true) also the `f1` of 1 and
    `accuracy_and_f1`, the mean of both.

    `macro_f1` is the mean over the labels that occur in either list; a label that is never right has an F1 of 0. An
    example without prediction (an empty one) counts as wrong, and is no label of its own.
    Raises: DataError where the two lists differ in length.
    """
    _check_lengths(gold, predicted)
    if not gold:
        return {"accuracy": 0.0, "macro_f1": 0.0, "mcc": 0.0}
    labels = sorted({*gold, *predicted} - {NOTHING})
    wanted, found = Counter(gold), Counter(predicted)
    right = Counter(g for g, p in zip(gold, predicted, strict=True) if g == p)
    f1 = {label: _f1(right[label], found[label], wanted[label]) for label in labels}
    accuracy = 100 * sum(right.values()) / len(gold)
    scores = {"accuracy": accuracy, "macro_f1": 100 * math.fsum(f1.values()) / len(labels)}
    scores["mcc"] = 100 * _correlation(len(gold), sum(right.values()), wanted, found, labels)
    positive = next((name for name in POSITIVE if set(labels) <= {name, {"1": "0", "true": "false"}[name]}), None)
    if positive is not None:
        scores["f1"] = 100 * f1.get(positive, 0.0)
        scores["accuracy_and_f1"] = (accuracy + scores["f1"]) / 2
    return scores


def number_scores(gold: Sequence[float], predicted: Sequence[float]) -> dict[str, float]:
    """`pearson` and `spearman` correlation and their mean `pearson_and_spearman`; 0 where either list is constant."""
    from scipy import stats  # takes a second to import

    _check_lengths(gold, predicted)
    constant = len(set(gold)) < 2 or len(set(predicted)) < 2
    pearson = 0.0 if constant else 100 * float(stats.pearsonr(gold, predicted).statistic)
    spearman = 0.0 if constant else 100 * float(stats.spearmanr(gold, predicted).statistic)
    return {"pearson_and_spearman": (pearson + spearman) / 2, "pearson": pearson, "spearman": spearman}


def set_scores(gold: Sequence[Set[str]], predicted: Sequence[Set[str]]) -> dict[str, float]:
    """Return the scores of examples with any number of labels.

    They are `micro_f1`, `macro_f1` over the labels that occur, and `exact_match` of whole sets.
    """
    _check_lengths(gold, predicted)
    wanted = Counter(label for labels in gold for label in labels)
    found = Counter(label for labels in predicted for label in labels)
    right = Counter(label for g, p in zip(gold, predicted, strict=True) for label in g & p)
    labels = sorted({*wanted, *found})
    f1 = [_f1(right[label], found[label], wanted[label]) for label in labels]
    exact = sum(set(g) == set(p) for g, p in zip(gold, predicted, strict=True))
    return {
        "micro_f1": 100 * _f1(right.total(), found.total(), wanted.total()),
        "macro_f1": 100 * math.fsum(f1) / len(labels) if labels else 0.0,
        "exact_match": 100 * exact / len(gold) if gold else 0.0,
    }


def _correlation(total: int, right: int, wanted: Counter[str], found: Counter[str], labels: Sequence[str]) -> float:
    """Matthews' coefficient of any number of labels; 0 where one list holds one label alone."""
    covariance = right * total - sum(wanted[label] * found[label] for label in labels)
    spread = (total**2 - sum(n * n for n in found.values())) * (total**2 - sum(n * n for n in wanted.values()))
    return covariance / math.sqrt(spread) if spread else 0.0


def _f1(right: int, found: int, wanted: int) -> float:
    return 2 * right / (found + wanted) if found + wanted else 0.0


def _check_lengths(gold: Sequence[object], predicted: Sequence[object]) -> None:
    if len(gold) != len(predicted):
        raise DataError(f"{len(predicted):,} predictions came for {len(gold):,} examples; one for each is needed.")
