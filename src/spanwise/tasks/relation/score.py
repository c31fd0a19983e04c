"""The official metrics of relation extraction: TACRED's micro-F1 and the macro-F1 of SemEval-2010 Task 8.

Source: the scorer of TACRED (Zhang et al. 2017): the negative label is never counted as right, found or to be found;
the scorer of SemEval-2010 Task 8 (Hendrickx et al. 2010), version 1.2, "(9+1)-way evaluation taking directionality into
account".
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from spanwise.errors import DataError

NEGATIVE = "no_relation"  # of TACRED
OTHER = "Other"  # of SemEval-2010 Task 8


def micro_scores(gold: Sequence[str], predicted: Sequence[str], *, negative: str | None = NEGATIVE) -> dict[str, float]:
    """`f1`, `precision` and `recall` over all labels but `negative` (None: over all), and `accuracy`, from 0 to 100.

    As in TACRED's scorer precision is 100 where nothing was found.
    Raises: DataError where the two lists differ in length.
    """
    if len(gold) != len(predicted):
        raise DataError(f"{len(predicted):,} predictions came for {len(gold):,} examples; one for each is needed.")
    right = sum(g == p and g != negative for g, p in zip(gold, predicted, strict=True))
    found = sum(label != negative for label in predicted)
    wanted = sum(label != negative for label in gold)
    precision = right / found if found else 1.0
    recall = right / wanted if wanted else 0.0
    accuracy = sum(g == p for g, p in zip(gold, predicted, strict=True)) / len(gold) if gold else 0.0
    return {
        "f1": 100 * _f1(precision, recall),
        "precision": 100 * precision,
        "recall": 100 * recall,
        "accuracy": 100 * accuracy,
    }


def semeval_scores(gold: Mapping[str, str], predicted: Mapping[str, str], *, negative: str = OTHER) -> dict[str, float]:
    """`macro_f1` (the official score), `macro_precision` and `macro_recall` over the relations but `negative`, and
    `micro_f1`, `accuracy` and `coverage`, from 0 to 100; labels by example, such as `"Cause-Effect(e2,e1)"`.

    A prediction of the right relation in the wrong direction is wrong and counts as found. Examples without a
    prediction are wrong and count as not found.
    Raises: DataError for predictions of examples that there are none of.
    """
    unknown = [example for example in predicted if example not in gold]
    if unknown:
        raise DataError(
            f"{len(unknown):,} predictions are for examples that the key does not have, such as {unknown[0]!r}; "
            "they were made for another file."
        )
    right, found, wanted = Counter[str](), Counter[str](), Counter[str]()
    for example, label in gold.items():
        wanted[_relation(label)] += 1
        if example in predicted:
            found[_relation(predicted[example])] += 1
            right[_relation(label)] += predicted[example] == label
    relations = sorted({*wanted, *found} - {negative})
    parts = []
    for name in relations:
        precision = right[name] / found[name] if found[name] else 0.0
        recall = right[name] / wanted[name] if wanted[name] else 0.0
        parts.append((precision, recall, _f1(precision, recall)))
    macro = [100 * sum(column) / len(parts) if parts else 0.0 for column in zip(*parts, strict=True)] or [0.0] * 3
    all_right = sum(right[name] for name in relations)
    all_found, all_wanted = (sum(counts[name] for name in relations) for counts in (found, wanted))
    micro = _f1(all_right / all_found if all_found else 0.0, all_right / all_wanted if all_wanted else 0.0)
    return {
        "macro_f1": macro[2],
        "macro_precision": macro[0],
        "macro_recall": macro[1],
        "micro_f1": 100 * micro,
        "accuracy": 100 * sum(right.values()) / len(gold) if gold else 0.0,
        "coverage": 100 * len(predicted) / len(gold) if gold else 0.0,
    }


def _relation(label: str) -> str:
    """A label without its direction."""
    return label.partition("(")[0].strip()


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
