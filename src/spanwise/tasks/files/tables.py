"""Tables of labelled text: TSV, CSV, JSON lines, or a JSON list of objects, read the way their makers wrote them.

A file whose first line has a tab is unquoted: a quotation mark is a character like any other (GLUE, KorSTS and KLUE
are written so, and a reader of quotes would swallow whole lines at the first lone one). Only where the first line has
every cell in quotes are they read as quotes. A file with commas follows the usual rules of quotes.
"""

import csv
import io
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from spanwise.errors import DataError
from spanwise.runtime.suggest import did_you_mean
from spanwise.tasks.files.text import OnError, parse_json, plain_suffix, read_json, read_lines, read_text

csv.field_size_limit(1 << 28)
logger = logging.getLogger(__name__)
NUM_NAMED = 5  # rows that are left out and named
REPAIR = " Correct the row, or leave such rows out with --errors repair (finetune, evaluate, predict)."
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Row:
    """One example: values by column (numbers from 0 where the file has no header), and where it stands."""

    values: Mapping[str, Any]
    where: str  # "file, line 12", for messages
    number: int = 0  # from 0, rows that are left out counted: the id of a row without one


@dataclass(frozen=True, kw_only=True)
class Table:
    """The rows of one file. `columns` are those of its header; none where it has none, or rows are objects."""

    source: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    num_dropped: int = 0  # rows left out under errors="repair"


def read_table(
    path: str | Path, *, header: bool | None = None, known: Sequence[str] = (), errors: str = "strict"
) -> Table:
    """Read a file with one example per row.

    header: whether the first line names the columns; None: it does where it holds one of the names in `known`, in any
    capitals. Columns of a file without header are called "0", "1", ... With `errors="repair"` rows of a wrong number of
    columns are left out and counted.

    Raises: DataError naming file and line.
    """
    text = read_text(path)
    source = str(path)
    if "\0" in text:
        raise DataError(f"{source}: holds a null character at {text.index(chr(0))}; this is no text file.")
    start = text.lstrip()[:1]
    if plain_suffix(path) in (".jsonl", ".json", ".ndjson") or _is_objects(text):
        return _objects(text, source, is_list=start == "[")
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if not first:
        raise DataError(f"{source}: the file is empty.")
    cells = first.strip("\r").split("\t")
    has_commas = "\t" not in first and "," in first
    if len(cells) > 1 and all(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in cells):
        found = _quoted_rows(text, source, delimiter="\t")
    elif has_commas:
        found = _quoted_rows(text, source, delimiter=",")
    else:
        one_column = _quoted_column(text, source) if plain_suffix(path) == ".csv" else None
        found = one_column or _tab_rows(lines)
    if header is None:
        header = bool({name.casefold() for name in known} & {cell.casefold() for cell in found[0][1]})
    names = tuple(found[0][1]) if header else ()
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{source}: two columns are called {repeated!r}; rename one.")
    rows, refused = [], list[DataError]()
    width = len(names) or (len(found[0][1]) if has_commas else None)  # lines with tabs may end in more, as STS-B's do
    for number, (line, cells) in enumerate(found[1:] if header else found):
        where = f"{source}, line {line}"
        while len(cells) > len(names) > 0 and not cells[-1]:
            cells.pop()
        if width and len(cells) != width:
            told, mark = "the header names" if names else "the first line has", "comma" if has_commas else "tab"
            wrong = DataError(f"{where}: {len(cells)} columns, and {told} {width} (a {mark} inside a text?).{REPAIR}")
            if errors != "repair":
                raise wrong
            refused.append(wrong)
            continue
        if len(names) > 1 and tuple(cells) == names:
            wrong = DataError(f"{where}: the header stands here again (two files in one?); take the line out.{REPAIR}")
            if errors != "repair":
                raise wrong
            refused.append(wrong)
            continue
        rows.append(Row(dict(zip(names or map(str, range(len(cells))), cells, strict=True)), where, number))
    name_left_out(refused)
    return Table(source=source, columns=names, rows=tuple(rows), num_dropped=len(refused))


def read_list(path: str | Path, *, known: Sequence[str]) -> Table | None:
    """A `.txt` file of texts alone, one per line, as a table of the one column `text`; None for any other file.

    A file with a tab, of JSON lines or of cells in quotes, or one whose first line holds one of the column names in
    `known`, is a table like any other; so is every file where no name is known: its columns have numbers.
    Raises: DataError as `read_table`.
    """
    if plain_suffix(path) != ".txt" or not known:
        return None
    text = read_text(path)
    lines = [(number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines or "\t" in text or "\0" in text or _is_objects(text) or '","' in lines[0][1]:
        return None
    if {name.casefold() for name in known} & {cell.strip(' "').casefold() for cell in lines[0][1].split(",")}:
        return None
    source = str(path)
    rows = tuple(Row({"text": line}, f"{source}, line {at}", number) for number, (at, line) in enumerate(lines))
    return Table(source=source, columns=("text",), rows=rows)


def _is_objects(text: str) -> bool:
    return text.lstrip()[:2] in ('{"', "{}")


def _tab_rows(lines: list[str]) -> list[tuple[int, list[str]]]:
    return [
        (number, line.removesuffix("\r").split("\t")) for number, line in enumerate(lines, 1) if line.strip("\r\n ")
    ]


def _quoted_rows(text: str, source: str, *, delimiter: str) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    line = 1
    try:
        for cells in reader:
            if cells:
                rows.append((line, cells))
            line = reader.line_num + 1
    except csv.Error as error:
        form = "CSV" if delimiter == "," else "TSV in quotes"
        raise DataError(f"{source}, line {line}: not {form} ({error}).") from error
    return rows


def _quoted_column(text: str, source: str) -> list[tuple[int, list[str]]] | None:
    """The rows of a CSV of one column with cells in quotes; None where it is no such file."""
    try:
        rows = _quoted_rows(text, source, delimiter=",") if '"' in text else []
    except DataError:
        return None
    return rows if rows and all(len(cells) == 1 for _, cells in rows) else None


def _objects(text: str, source: str, *, is_list: bool) -> Table:
    if is_list:
        records = parse_json(text, source)
        wheres = [f"{source}, entry {number + 1}" for number in range(len(records))]
    else:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        records = [parse_json(line, source, number) for number, line in lines]
        wheres = [f"{source}, line {number}" for number, _ in lines]
    for record, where in zip(records, wheres, strict=True):
        if not isinstance(record, Mapping):
            raise DataError(f"{where}: expected an object with named values, got {type(record).__name__}.")
    if not records:
        raise DataError(f"{source}: the file is empty.")
    return Table(source=source, columns=(), rows=tuple(map(Row, records, wheres, range(len(records)))))


def parsed(rows: Iterable[R], parse: Callable[[R], T], errors: OnError) -> tuple[list[T], int]:
    """Return what `parse` makes of each row, and how many it refused: left out with `errors="repair"`, and named in a
    warning.

    Raises: DataError of the first refused row under "strict"; it names the cure where another row can be read.
    """
    found, refused = [], list[DataError]()
    waiting = iter(rows)
    for row in waiting:
        try:
            found.append(parse(row))
        except DataError as error:
            if errors != "repair":
                if "--errors repair" in str(error) or not (found or any(_is_read(row, parse) for row in waiting)):
                    raise
                raise DataError(f"{error}{REPAIR}") from error
            refused.append(error)
    name_left_out(refused)
    return found, len(refused)


def _is_read(row: R, parse: Callable[[R], T]) -> bool:
    try:
        parse(row)
    except DataError:
        return False
    return True


def name_left_out(refused: Sequence[DataError]) -> None:
    """Say in the log which rows are left out and why: the first few, and how many more."""
    for error in refused[:NUM_NAMED]:
        logger.warning("Left out: %s", str(error).removesuffix(REPAIR))
    if len(refused) > NUM_NAMED:
        logger.warning("Left out for such reasons: %s more.", f"{len(refused) - NUM_NAMED:,}")


def value_of(row: Row, column: str) -> Any:
    """A row's value by column; `a.b` looks into an object. Raises: DataError naming the row and what it has."""
    if column in row.values:
        return row.values[column]
    value: object = row.values
    for step in column.split("."):
        if not isinstance(value, Mapping) or step not in value:
            names = list(row.values)
            raise DataError(
                f"{row.where}: no column {column!r}; it has {', '.join(names)}.{did_you_mean(column, names)}"
            )
        value = value[step]
    return value


def text_of(row: Row, column: str) -> str:
    """A row's text by column. Raises: DataError for a missing or empty one, or half a surrogate pair."""
    value = value_of(row, column)
    if not isinstance(value, str):
        raise DataError(f"{row.where}: column {column!r} holds {value!r}; a text was expected.")
    if not value.strip():
        raise DataError(f"{row.where}: column {column!r} is empty; a text was expected.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{row.where}: {column!r} holds half a surrogate pair at character {error.start}.") from error
    return value


def answer_files(records: Mapping[str, object], written: Iterable[object]) -> dict[str, object]:
    """Return the files of predictions: `.json`, all that is known by id; `.tsv`, id and prediction as GLUE wants it,
    where none of them holds a tab or a line end, which that form has no way to write."""
    lines = ["index\tprediction", *(f"{id}\t{prediction}" for id, prediction in zip(records, written, strict=True))]
    if any(line.count("\t") != 1 or "\n" in line or "\r" in line for line in lines):
        logger.warning("A prediction or id holds a tab or a line end, so that no .tsv is written; the .json has all.")
        return {".json": records}
    return {".json": records, ".tsv": "".join(line + "\n" for line in lines)}


def read_answers(path: Path, *keys: str, what: str) -> dict[str, object]:
    """Read predictions by id: a JSON object, or lines of id and prediction, whatever the file's name ends in.

    A value of the object is a prediction, or a record as `predict` writes it, which has it under one of `keys`. `what`
    a prediction is called in messages. Raises: DataError naming the place.
    """
    if plain_suffix(path) == ".json" or holds_json(path):
        record = read_json(path)
        if not isinstance(record, Mapping):
            raise DataError(f"{path}: expected an object of id to {what}, got a {type(record).__name__}.")
        return {str(id): _inner(value, keys) for id, value in record.items()}
    lines = [(number, line.split("\t")) for number, line in enumerate(read_lines(path), 1) if line.strip()]
    for number, cells in lines:
        if len(cells) != 2:
            raise DataError(
                f"{path}, line {number}: {len(cells)} columns; a JSON object of id to {what}, or lines of an id, a tab "
                f"and a {what}, were expected."
            )
    rows = [cells for _, cells in lines]
    if rows and rows[0][0] in ("index", "id", "ID"):
        del rows[0]
    found: dict[str, object] = {cells[0]: cells[1] for cells in rows}
    if len(found) < len(rows):
        raise DataError(f"{path}: an id stands on two lines; each example has one {what}.")
    return found


def holds_json(path: str | Path) -> bool:
    """Return whether a file begins as a JSON object or list does."""
    return read_text(path).lstrip()[:1] in ("{", "[")


def _inner(value: object, keys: tuple[str, ...]) -> object:
    if isinstance(value, Mapping):
        return next((value[key] for key in keys if key in value), None)
    return value
