"""Printing: rich tables on a terminal, plain lines in a pipe, one JSON object where a program reads."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table

PIPE_WIDTH = 200  # columns where nobody looks at a terminal: lines stay whole for grep


class OutputConsole(Console):
    """A console that lets `main` see when the reader of a pipe has gone (rich would end the process itself)."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def standard_output() -> Console:
    """Return the console of this process's standard output, as it is now (tests and pipes replace it)."""
    terminal = sys.stdout.isatty()
    return OutputConsole(
        file=sys.stdout, width=None if terminal else PIPE_WIDTH, highlight=False, soft_wrap=not terminal
    )


def print_json(record: Mapping | Sequence) -> None:
    """Print one JSON object and nothing else; numbers keep full precision, and those that are not finite are null."""
    from spanwise.runtime.progress import finite

    text = json.dumps(finite(record), ensure_ascii=False, indent=2, default=str, allow_nan=False)
    sys.stdout.write(text + "\n")


def print_pairs(pairs: Iterable[tuple[str, object]]) -> None:
    """Print names and values in two columns."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        grid.add_row(name, show_value(value))
    standard_output().print(grid)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """Print a table without frames; numbers stand on the right."""
    rows = [list(row) for row in rows]
    table = Table(
        title=title, box=None, pad_edge=False, title_justify="left", header_style="bold", padding=(0, 2, 0, 0)
    )
    for index, name in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[index], int | float) or row[index] is None for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(show_value(value) for value in row))
    standard_output().print(table)


def say(text: str) -> None:
    """Print a line of prose as it is (no markup is read in it)."""
    standard_output().print(text, markup=False)


def show_value(value: object) -> str:
    """Return a value as people read it: thousands apart, four digits of a fraction, nothing for None."""
    from rich.markup import escape

    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return escape(str(value))
