"""The answers of a classifier to each example, and how they are written and read.

Letters: W examples, K labels.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spanwise.errors import DataError
from spanwise.tasks.classification.layouts import Kind
from spanwise.tasks.classification.reader import Label
from spanwise.tasks.files.tables import answer_files, holds_json, read_answers
from spanwise.tasks.files.text import parse_json, read_json, read_lines

_FRACTION = re.compile(r"\t-?\d+\.\d+$", re.M)  # of a prediction, at the end of its line


@dataclass(frozen=True, kw_only=True)
class ClassPredictions:
    """The label (or number, or labels) that W examples get, and the probability of each label."""

    ids: tuple[str, ...]
    told: tuple[Label, ...]
    label_names: tuple[str, ...]  # [K]; empty for regression
    probabilities: np.ndarray  # [W, K]; [W, 0] for regression
    num_windows: tuple[int, ...]
    num_dropped: tuple[int, ...]  # tokens of each example that the model did not see

    def record(self, number: int) -> dict[str, object]:
        """One prediction as plain values."""
        told = self.told[number]
        if isinstance(told, float):
            found: dict[str, object] = {"value": told}
        else:
            shares = {
                name: float(share) for name, share in zip(self.label_names, self.probabilities[number], strict=True)
            }
            found = {"labels": list(told)} if isinstance(told, tuple) else {"label": told, "score": shares[told]}
            found["scores"] = shares
        return {**found, "num_windows": self.num_windows[number], "num_dropped_tokens": self.num_dropped[number]}

    def files(self) -> dict[str, object]:
        """`.json`: all that is known of each example, by id; `.tsv`: index and prediction, as GLUE wants them."""
        return answer_files({id: self.record(n) for n, id in enumerate(self.ids)}, map(_written, self.told))


def decide(
    outputs: Sequence[np.ndarray],
    *,
    ids: tuple[str, ...],
    kind: Kind,
    labels: tuple[str, ...],
    threshold: float,
    num_windows: np.ndarray,
    num_dropped: np.ndarray,
) -> ClassPredictions:
    """Labels and probabilities from the scores [K] of each example."""
    scores_WK = np.stack(outputs).astype(np.float64)
    told: tuple[Label, ...]
    if kind == "regression":
        shares, told, labels = scores_WK[:, :0], tuple(float(row[0]) for row in scores_WK), ()
    elif kind == "multi_label":
        shares = 1 / (1 + np.exp(-scores_WK))
        told = tuple(tuple(labels[k] for k in np.flatnonzero(row >= threshold)) for row in shares)
    else:
        weights = np.exp(scores_WK - scores_WK.max(axis=1, keepdims=True))
        shares = weights / weights.sum(axis=1, keepdims=True)
        told = tuple(labels[int(row.argmax())] for row in scores_WK)
    return ClassPredictions(
        ids=ids,
        told=told,
        label_names=labels,
        probabilities=shares,
        num_windows=tuple(int(n) for n in num_windows),
        num_dropped=tuple(int(n) for n in num_dropped),
    )


def read_predictions(path: Path, kind: Kind) -> dict[str, Label]:
    """Predictions by id from a JSON object (id to label, or to a record as `predict` writes it), or a TSV of index and
    prediction. Raises: DataError naming the place."""
    found = read_answers(path, "label", "labels", "value", what="prediction")
    return {id: _as_label(value, kind, f"{path}, example {id!r}") for id, value in found.items()}


def are_numbers(path: Path) -> bool:
    """Return whether a file holds what `predict` writes for a regression: values, or numbers with a fraction."""
    if holds_json(path):
        record = read_json(path)
        first = next(iter(record.values()), None) if isinstance(record, Mapping) else None
        return isinstance(first, Mapping) and "value" in first
    return bool(_FRACTION.search("\n".join(read_lines(path))))


def _as_label(value: object, kind: Kind, where: str) -> Label:
    if kind == "regression":
        try:
            return float(str(value))
        except ValueError:
            raise DataError(f"{where}: {value!r} came; a number was expected.") from None
    if kind == "multi_label":
        parts = value
        if isinstance(value, str):
            parts = parse_json(value, where) if value.startswith('["') else value.split(",")
        if not isinstance(parts, list):
            raise DataError(f"{where}: {value!r} came; a list of labels was expected.")
        return tuple(str(part).strip() for part in parts if str(part).strip())
    if value is None or isinstance(value, list):
        raise DataError(f"{where}: {value!r} came; one label was expected.")
    name = str(value).strip()
    return name.lower() if name.lower() in ("true", "false") else name


def _written(told: Label) -> str:
    if isinstance(told, float):
        return f"{told:.6g}"
    if isinstance(told, str):
        return told
    return json.dumps(told, ensure_ascii=False) if any("," in name for name in told) else ",".join(told)
