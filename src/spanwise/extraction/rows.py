"""The rows of an extraction: what stands in OUT, one row per answer, name, mention, relation or label.

| column | holds |
|---|---|
| document | FILE#NUMBER |
| offset | characters of the text file before the document; null for JSON lines and parquet |
| task, model | what found it |
| kind | the question (its id), the label of a name or text, "mention", or the relation |
| start, end, text | characters of the document, half-open: the answer, name, mention, or subject of a relation |
| score | as the pipeline of the task gives it |
| cluster | of a mention: which cluster of its document, from 0 |
| object_start, object_end, object_text | of a relation |

A label of a whole text has no start, end and text.
"""

import io
import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NotRequired, TypedDict

from spanwise.errors import ConfigError
from spanwise.runtime.disk import DISK

SUFFIXES = (".parquet", ".jsonl")
WHOLE, NUMBER, REAL = "string", "int64", "double"
COLUMNS = {
    "document": WHOLE,
    "offset": NUMBER,
    "task": WHOLE,
    "model": WHOLE,
    "kind": WHOLE,
    "start": NUMBER,
    "end": NUMBER,
    "text": WHOLE,
    "score": REAL,
    "cluster": NUMBER,
    "object_start": NUMBER,
    "object_end": NUMBER,
    "object_text": WHOLE,
}  # column -> its type in parquet
ROW_GROUP = 50_000  # rows of parquet that are held in memory


class Row(TypedDict):
    """What a model found in one document; the columns that name document, task and model are added to it."""

    kind: str
    score: float
    start: NotRequired[int]
    end: NotRequired[int]
    text: NotRequired[str]
    cluster: NotRequired[int]
    object_start: NotRequired[int]
    object_end: NotRequired[int]
    object_text: NotRequired[str]


Cell = str | int | float | None
Record = dict[str, Cell]


def check_suffix(out: Path) -> None:
    """Raises: ConfigError for a file of another kind, and for parquet without pyarrow."""
    if out.suffix not in SUFFIXES:
        raise ConfigError(f"--out {out} ends in {out.suffix or 'nothing'!r}; name a file in {' or '.join(SUFFIXES)}.")
    if out.suffix == ".parquet":
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as cause:
            raise ConfigError(
                f"{out}: parquet files need pyarrow. Install it with: pip install 'spanwise[parquet]', or name a file "
                "in .jsonl."
            ) from cause


def write_rows(path: Path, records: Iterable[Record], suffix: str) -> int:
    """Write rows to a file of the kind `suffix` and force it to the disk; return how many there are."""
    number = _write_parquet(path, records) if suffix == ".parquet" else write_json_lines(path, records)
    return number


def write_json_lines(path: Path, records: Iterable[Record]) -> int:
    """Write a line of JSON per record, empty columns left out; force it to the disk and return how many there are."""
    number = 0
    with io.TextIOWrapper(DISK.open_to_write(path), encoding="utf-8", errors="backslashreplace") as file:
        for record in records:
            known = {name: value for name, value in record.items() if value is not None}
            file.write(json.dumps(known, ensure_ascii=False) + "\n")
            number += 1
        DISK.fsync_open(file)
    return number


def _write_parquet(path: Path, records: Iterable[Record]) -> int:
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema(list(COLUMNS.items()))
    number = 0
    with DISK.open_to_write(path) as file:
        with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            left = iter(records)
            while group := list(itertools.islice(left, ROW_GROUP)):
                writer.write_table(pyarrow.Table.from_pylist(group, schema=schema))
                number += len(group)
        DISK.fsync_open(file)
    return number
