"""Examples of any form -> flat arrays, end to end as in a pack.

Letters: B examples, T tokens of all of them together. Source: the forms that `tokenizers` and `datasets` give.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import torch

from spanwise.errors import DataError

NO_WORD = -1  # of a token that belongs to no word
TOKEN_KEYS = ("attention_mask", "token_type_ids", "special_tokens_mask", "word_ids", "span_mask", "labels")
# about the text, not for the model: nothing is made of them
_LEFT_OUT = frozenset({"offset_mapping", "overflow_to_sample_mapping"})


Example = Mapping[str, object] | Sequence[int] | np.ndarray | torch.Tensor
Examples = Iterable[Example] | Mapping[str, Any]
"""A list of dictionaries or of ids, or one dictionary of columns."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """B examples end to end. A column that the examples did not have is None."""

    input_ids: np.ndarray  # [T] int64, a copy
    borders: np.ndarray  # [B+1] int64
    attention_mask: np.ndarray | None = None  # the columns: [T] int64
    token_type_ids: np.ndarray | None = None
    special_tokens_mask: np.ndarray | None = None
    word_ids: np.ndarray | None = None  # NO_WORD where the example said None
    span_mask: np.ndarray | None = None
    labels: np.ndarray | None = None
    scalars: dict[str, np.ndarray] = field(default_factory=dict)  # [B] each: numbers of whole examples


def read_rows(examples: Examples) -> Rows:
    """Read a list of examples (dictionaries, or ids alone), or one dictionary of lists as a tokenizer returns it.

    Ids may be lists, arrays or tensors. `labels` count only where `span_mask` say that the example is masked already.

    Raises: DataError naming the example and the key.
    """
    rows = _as_mappings(examples)
    ids, lengths_B = _flat([row["input_ids"] for row in rows], "input_ids")
    borders = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(lengths_B, out=borders[1:])
    keys = rows[0].keys()
    token_keys = [key for key in TOKEN_KEYS if key != "labels" or "span_mask" in keys]
    _check_columns(rows, token_keys)
    columns = {}
    for key in (key for key in token_keys if key in keys):
        values_T, key_lengths_B = _flat([row.get(key) for row in rows], key)
        wrong = np.flatnonzero(key_lengths_B != lengths_B)
        if len(wrong):
            row = wrong[0]
            raise DataError(f"example {row} has {lengths_B[row]} input_ids but {key_lengths_B[row]} values of {key!r}.")
        columns[key] = values_T
    if "span_mask" in columns and "labels" not in columns:
        raise DataError("the examples have 'span_mask' but no 'labels'; masked examples need both.")
    others = [key for key in keys if key not in ("input_ids", *TOKEN_KEYS) and key not in _LEFT_OUT]
    scalars = {key: values for key in others if (values := _scalars(key, rows)) is not None}
    return Rows(input_ids=ids, borders=borders, scalars=scalars, **columns)


def _as_mappings(examples: Examples) -> Sequence[Mapping[str, Any]]:
    if isinstance(examples, Mapping):
        if "input_ids" not in examples:
            raise DataError(f"the batch has no 'input_ids'; it has {', '.join(map(repr, examples)) or 'nothing'}.")
        num_rows = len(examples["input_ids"])
        return [{key: values[row] for key, values in examples.items()} for row in range(num_rows)]
    rows: list[Any] = list(examples)
    if not rows:
        raise DataError("an empty list of examples came; a batch has at least one.")
    if not isinstance(rows[0], Mapping):
        return [{"input_ids": example} for example in rows]
    for number, example in enumerate(rows):
        if "input_ids" not in example:
            raise DataError(
                f"example {number} has no 'input_ids'; it has {', '.join(map(repr, example)) or 'nothing'}. Under the "
                "Trainer, remove_unused_columns=False keeps the columns that the model does not name."
            )
    return rows


def _check_columns(rows: Sequence[Mapping[str, Any]], token_keys: Sequence[str]) -> None:
    """Refuse a batch whose examples have different columns: what some lack would be lost, or hidden a second time."""
    keys = rows[0].keys()
    for number, row in enumerate(rows):
        if row.keys() == keys:
            continue
        for key in token_keys:
            if (key in row) != (key in keys):
                which = ("has", "has none") if key in row else ("has no", "has one")
                raise DataError(
                    f"example {number} {which[0]} {key!r} and example 0 {which[1]}; all examples of a batch need the "
                    "same columns. Collate masked and unmasked examples apart."
                )


def _flat(rows: list[Any], key: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of all rows end to end, int64 [T], always a copy; and the length of each row [B]."""
    kinds = set(map(type, rows))
    try:
        if kinds == {list}:
            lengths_B = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
            return _numbers(rows, key, int(lengths_B.sum())), lengths_B
        if kinds == {torch.Tensor} and {row.ndim for row in rows} == {1}:
            joined = torch.cat(rows).cpu()
            if joined.is_floating_point() and len(joined):
                raise TypeError(f"{joined.dtype} came")
            return joined.numpy().astype(np.int64, copy=False), np.array([len(row) for row in rows])
        arrays = [row.numpy(force=True) if isinstance(row, torch.Tensor) else _as_array(row, key) for row in rows]
        arrays = [row[0] if row.ndim == 2 and len(row) == 1 else row for row in arrays]  # of return_tensors="pt"
        lengths_B = np.fromiter(map(len, arrays), dtype=np.int64, count=len(rows))
        for number, array in enumerate(arrays):
            if array.ndim != 1 or (array.dtype.kind not in "iub" and array.size):
                raise DataError(
                    f"{key!r} of example {number} is {array.dtype} {list(array.shape)}; a flat row of whole numbers is "
                    "expected. Give a list of examples, one row each."
                )
        return np.concatenate(arrays).astype(np.int64, copy=False), lengths_B
    except (TypeError, ValueError, OverflowError) as cause:
        raise DataError(f"{key!r} must be rows of whole numbers, one row per example: {cause}") from cause


def _numbers(rows: list[list[int | None]], key: str, count: int) -> np.ndarray:
    """Read lists of Python numbers in one pass: a third faster than an array per row."""
    values: Iterable[Any] = chain.from_iterable(rows)
    if key == "word_ids":
        values = (NO_WORD if value is None else value for value in values)
    first = next((row[0] for row in rows if row), 0)
    if isinstance(first, float | np.floating):
        raise TypeError(f"{first} came")
    return np.fromiter(values, dtype=np.int64, count=count)


def _as_array(row: Any, key: str) -> np.ndarray:
    if key == "word_ids" and not isinstance(row, np.ndarray):
        row = [NO_WORD if value is None else value for value in row]
    array = np.asarray(row)
    if key == "word_ids" and array.dtype.kind == "O":
        array = np.array([NO_WORD if value is None else value for value in array.tolist()], dtype=np.int64)
    return array


def _scalars(key: str, rows: Sequence[Mapping[str, Any]]) -> np.ndarray | None:
    """Return numbers of whole examples as one array [B]; None for text. Raises: DataError for what can't be padded."""
    values: list[Any] = [row.get(key) for row in rows]
    if any(isinstance(value, str | bytes) or value is None for value in values):
        return None
    flat: list[Any] = [value.item() if getattr(value, "ndim", None) == 0 else value for value in values]
    if not all(isinstance(value, bool | int | float) for value in flat):
        raise DataError(
            f"this collator can't pad {key!r}; it knows input_ids, {', '.join(TOKEN_KEYS)} and single numbers. Leave "
            "the column out, or add it to the batch afterwards."
        )
    return np.array(flat, dtype=np.float32 if float in map(type, flat) else np.int64)
