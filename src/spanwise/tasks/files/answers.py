"""Files of predictions by id: JSON objects, or tables of two columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from spanwise.errors import DataError
from spanwise.tasks.files.text import plain_suffix, read_json, read_lines


def read_answers(path: Path, *keys: str, what: str) -> dict[str, object]:
    """Read predictions by id: a JSON object, or (`.tsv`, `.txt`) lines of id and prediction.

    A value of the object is a prediction, or a record as `predict` writes it, which has it under one of `keys`. `what`
    a prediction is called in messages. Raises: DataError naming the place.
    """
    if plain_suffix(path) not in (".tsv", ".txt"):
        record = read_json(path)
        if not isinstance(record, Mapping):
            raise DataError(f"{path}: expected an object of id to {what}, got a {type(record).__name__}.")
        return {str(id): _inner(value, keys) for id, value in record.items()}
    lines = [(number, line.split("\t")) for number, line in enumerate(read_lines(path), 1) if line.strip()]
    for number, cells in lines:
        if len(cells) != 2:
            raise DataError(f"{path}, line {number}: {len(cells)} columns; an id and a {what} were expected.")
    rows = [cells for _, cells in lines]
    if rows and rows[0][0] in ("index", "id", "ID"):
        del rows[0]
    found: dict[str, object] = {cells[0]: cells[1] for cells in rows}
    if len(found) < len(rows):
        raise DataError(f"{path}: an id stands on two lines; each example has one {what}.")
    return found


def _inner(value: object, keys: tuple[str, ...]) -> object:
    if isinstance(value, Mapping):
        return next((value[key] for key in keys if key in value), None)
    return value
