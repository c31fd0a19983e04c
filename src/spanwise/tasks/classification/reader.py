"""Labelled texts and pairs of texts from tables, whatever the data set."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spanwise.errors import DataError
from spanwise.tasks.classification.layouts import IDS, Kind, Layout, find_layout, header_names
from spanwise.tasks.files.joining import joined_name, told_apart
from spanwise.tasks.files.tables import Row, Table, parsed, read_list, read_table, text_of, value_of
from spanwise.tasks.files.text import OnError, Purpose

Label = str | float | tuple[str, ...]  # of one label, regression, many labels
BARE = Layout("text", None, "label")  # of a list of texts
NO_CONSENSUS = "-"  # of NLI files: pairs on which the annotators did not agree


@dataclass(frozen=True, kw_only=True)
class TextData:
    """The examples of a file in its order, or of several one behind the other.

    `labels` is empty where the file was read for prediction.
    """

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

    @property
    def holds(self) -> str:
        """Return what the examples are, as messages say it."""
        return f"{'pairs' if self.pairs is not None else 'single texts'} ({self.kind})"


def join_texts(parts: Sequence[TextData]) -> TextData:
    """Return files of texts as one; ids that an earlier file has are told apart.

    Raises: DataError where one file holds pairs and another single texts, or labels of another kind.
    """
    first = parts[0]
    for other in parts[1:]:
        if other.holds != first.holds:
            raise DataError(
                f"{first.source} holds {first.holds} and {other.source} {other.holds}; join files of one kind "
                "(task.kind says it where numbers may be either)."
            )
    ids = told_apart(part.ids for part in parts)
    return TextData(
        source=joined_name([part.source for part in parts]),
        ids=tuple(id for names in ids for id in names),
        texts=tuple(text for part in parts for text in part.texts),
        pairs=None if first.pairs is None else tuple(pair for part in parts for pair in part.pairs or ()),
        labels=tuple(label for part in parts for label in part.labels),
        kind=first.kind,
        places=tuple(place for part in parts for place in part.places),
        num_dropped=sum(part.num_dropped for part in parts),
    )


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
    texts alone, one per line.

    kind: what the labels are. None: many labels where they are lists (or `label_separator` parts them), regression
    where all are numbers and some have a decimal point, else one label.

    With `errors="repair"` malformed rows and empty texts (NSMC has some) are left out and counted.
    Raises: DataError naming file and line.
    """
    with_label, known = purpose != "predict", header_names(layouts)
    bare = None if with_label else read_list(path, known=known)
    table = bare or read_table(path, header=header, known=known, errors=errors)
    layout = find_layout(table, (BARE,) if bare else layouts, with_label=with_label)
    may_be_empty = kind == "multi_label" or (kind is None and label_separator is not None)

    def entry(id_and_row: tuple[str, Row]) -> _Entry:
        id, row = id_and_row
        value = value_of(row, layout.label) if with_label else None
        written = str(value).strip()
        is_missing = (not written and not may_be_empty) or (written == NO_CONSENSUS and layout.may_disagree)
        if with_label and is_missing:
            return _Entry(id, row.where, "", None, None)
        pair = None if layout.pair is None else text_of(row, layout.pair)
        return _Entry(id, row.where, text_of(row, layout.text), pair, value)

    entries, _ = parsed(zip(_ids(table), table.rows, strict=True), entry, errors)
    found = [one for one in entries if one.text]
    labels: list[Label] = []
    if with_label:
        known_kind = kind = kind or _kind_of([one.value for one in found], label_separator)
        told, _ = parsed(found, lambda one: (one, _label(one, layout.label, known_kind, label_separator)), errors)
        found, labels = [one for one, _ in told], [label for _, label in told]
    if not found:
        raise DataError(f"{table.source}: no row has a label.")
    return TextData(
        source=table.source,
        ids=tuple(one.id for one in found),
        texts=tuple(one.text for one in found),
        pairs=None if layout.pair is None else tuple(str(one.pair) for one in found),
        labels=tuple(labels),
        kind=kind or "single_label",
        places=tuple(one.where for one in found),
        num_dropped=table.num_dropped + len(table.rows) - len(found),
        unlabelled_ids=frozenset(one.id for one in entries if not one.text),
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """One row: its texts and what its label column holds; an empty text where no label was agreed on."""

    id: str
    where: str
    text: str
    pair: str | None
    value: object


def label_order(labels: Sequence[str]) -> tuple[str, ...]:
    """Different labels in the order of their ids: numbers by size, all others by alphabet behind them."""

    def key(label: str) -> tuple[int, float, str]:
        try:
            number = float(label)
        except ValueError:
            return 1, 0.0, label
        return (0, number, label) if math.isfinite(number) else (1, 0.0, label)

    return tuple(sorted(set(labels), key=key))


def _kind_of(values: Sequence[object], separator: str | None) -> Kind:
    if separator is not None or any(isinstance(value, list) for value in values):
        return "multi_label"
    written = [str(value) for value in values]
    numbers = [_number(text) for text in written]
    fractional = any("." in text for text in written)
    return "regression" if fractional and all(number is not None for number in numbers) else "single_label"


def _label(entry: _Entry, column: str, kind: Kind, separator: str | None) -> Label:
    value, where = entry.value, entry.where
    if kind == "regression":
        number = _number(value)
        if number is None:
            raise DataError(f"{where}: column {column!r} holds {value!r}; a number was expected.")
        return number
    if kind == "multi_label":
        if value is None or isinstance(value, dict):
            raise DataError(
                f"{where}: column {column!r} holds {value!r}; a list of labels was expected, an empty one for none."
            )
        parts = value if isinstance(value, list) else str(value).split(separator or ",")
        names = [_name(part, where, column) for part in parts if str(part).strip()]
        if len(set(names)) < len(names):
            raise DataError(f"{where}: column {column!r} names a label twice: {value!r}.")
        return tuple(names)
    return _name(value, where, column)


def _name(value: object, where: str, column: str) -> str:
    if isinstance(value, list | dict) or value is None:
        raise DataError(f"{where}: column {column!r} holds {value!r}; one label was expected.")
    name = str(value).strip()
    return name.lower() if name.lower() in ("true", "false") else name  # KoBEST writes True and TRUE


def _number(value: object) -> float | None:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _ids(table: Table) -> tuple[str, ...]:
    """A column of ids where the file has one and no two are equal; else numbers from 0, of rows without a label and of
    rows left out too."""
    for name in IDS:
        if all(name in row.values for row in table.rows):
            ids = tuple(str(row.values[name]).strip() for row in table.rows)
            if all(ids) and len(set(ids)) == len(ids):
                return ids
    return tuple(str(row.number) for row in table.rows)
