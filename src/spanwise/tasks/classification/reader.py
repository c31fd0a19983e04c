"""Labelled texts and pairs of texts from tables, whatever the data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanwise.errors import DataError
from spanwise.tasks.classification.layouts import IDS, Kind, Layout, find_layout, header_names
from spanwise.tasks.files.tables import Row, Table, parsed, read_list, read_table, text_of, value_of
from spanwise.tasks.files.text import OnError, Purpose

Label = str | float | tuple[str, ...]  # of one label, regression, many labels
BARE = Layout("text", None, "label")  # of a list of texts
NO_CONSENSUS = "-"  # of NLI files: pairs on which the annotators did not agree


@dataclass(frozen=True, kw_only=True)
class TextData:
    """The examples of one file, in file order. `labels` is empty where the file was read for prediction."""

    source: str
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    pairs: tuple[str, ...] | None
    labels: tuple[Label, ...]
    kind: Kind
    places: tuple[str, ...]  # "file, line 3" of each
    num_dropped: int = 0  # rows left out: no label agreed on, or malformed under errors="repair"
    unlabelled_ids: frozenset[str] = frozenset()  # of the rows without an agreed label; predictions for them are idle

    def __len__(self) -> int:
        return len(self.texts)


def read_texts(
    path: str | Path,
    layouts: Sequence[Layout],
    *,
    purpose: Purpose,
    kind: Kind | None,
    header: bool | None = None,
    label_separator: str | None = None,
    errors: OnError = "strict",
) -> TextData:
    """Read a TSV, CSV or JSON (lines) file by the first of `layouts` that it has; for prediction also a `.txt` file of
    texts alone, one a line.

    kind: what the labels are. None: many labels where they are lists (or `label_separator` parts them), regression
    where all are numbers and some have a decimal point, else one label.

    With `errors="repair"` malformed rows and empty texts (NSMC has some) are left out and counted.
    Raises: DataError naming file and line.
    """
    with_label, known = purpose != "predict", header_names(layouts)
    bare = None if with_label else read_list(path, known=known)
    table = bare or read_table(path, header=header, known=known, errors=errors)
    layout = find_layout(table, (BARE,) if bare else layouts, with_label=with_label)
    all_ids = _ids(table)
    may_be_empty = kind == "multi_label" or (kind is None and label_separator is not None)

    def is_missing(label: Any) -> bool:
        written = str(label).strip()
        return (not written and not may_be_empty) or (written == NO_CONSENSUS and layout.may_disagree)

    def texts(entry: tuple[str, Row]) -> tuple[str, Row, str, str | None, Any]:
        id, row = entry
        value = value_of(row, layout.label) if with_label else None
        if with_label and is_missing(value):
            return id, row, "", None, None
        return id, row, text_of(row, layout.text), None if layout.pair is None else text_of(row, layout.pair), value

    found, _ = parsed(zip(all_ids, table.rows, strict=True), texts, errors)
    unlabelled = frozenset(id for id, _, text, _, _ in found if not text)
    found = [entry for entry in found if entry[2]]
    if with_label:
        kind = kind or _kind_of([value for *_, value in found], label_separator)
    labels: list[Label] = []
    if with_label and kind is not None:
        told, _ = parsed(
            found, lambda entry: (entry, _label(entry[4], entry[1], layout.label, kind, label_separator)), errors
        )
        found, labels = [entry for entry, _ in told], [label for _, label in told]
    if not found:
        raise DataError(f"{table.source}: no row has a label.")
    return TextData(
        source=table.source,
        ids=tuple(id for id, *_ in found),
        texts=tuple(text for _, _, text, _, _ in found),
        pairs=None if layout.pair is None else tuple(str(second) for _, _, _, second, _ in found),
        labels=tuple(labels),
        kind=kind or "single_label",
        places=tuple(row.where for _, row, *_ in found),
        num_dropped=table.num_dropped + len(table.rows) - len(found),
        unlabelled_ids=unlabelled,
    )


def label_order(labels: Sequence[str]) -> tuple[str, ...]:
    """Different labels in the order of their ids: numbers by size, all others by alphabet behind them."""

    def key(label: str) -> tuple[int, float, str]:
        try:
            number = float(label)
        except ValueError:
            return 1, 0.0, label
        return (0, number, label) if math.isfinite(number) else (1, 0.0, label)

    return tuple(sorted(set(labels), key=key))


def _kind_of(values: Sequence[Any], separator: str | None) -> Kind:
    if separator is not None or any(isinstance(value, list) for value in values):
        return "multi_label"
    written = [str(value) for value in values]
    numbers = [_number(text) for text in written]
    fractional = any("." in text for text in written)
    return "regression" if fractional and all(number is not None for number in numbers) else "single_label"


def _label(value: Any, row: Row, column: str, kind: Kind, separator: str | None) -> Label:
    if kind == "regression":
        number = _number(value)
        if number is None:
            raise DataError(f"{row.where}: column {column!r} holds {value!r}; a number was expected.")
        return number
    if kind == "multi_label":
        parts = value if isinstance(value, list) else str(value).split(separator or ",")
        names = [_name(part, row, column) for part in parts if str(part).strip()]
        if len(set(names)) < len(names):
            raise DataError(f"{row.where}: column {column!r} names a label twice: {value!r}.")
        return tuple(names)
    return _name(value, row, column)


def _name(value: Any, row: Row, column: str) -> str:
    if isinstance(value, list | dict) or value is None:
        raise DataError(f"{row.where}: column {column!r} holds {value!r}; one label was expected.")
    name = str(value).strip()
    return name.lower() if name.lower() in ("true", "false") else name  # KoBEST writes True and TRUE


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _ids(table: Table) -> tuple[str, ...]:
    """A column of ids where the file has one and no two are equal; else numbers from 0, of rows without a label too."""
    for name in IDS:
        if all(name in row.values for row in table.rows):
            ids = tuple(str(row.values[name]).strip() for row in table.rows)
            if all(ids) and len(set(ids)) == len(ids):
                return ids
    return tuple(map(str, range(len(table.rows))))
