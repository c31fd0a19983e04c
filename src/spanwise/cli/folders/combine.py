"""`spanwise combine`: fine-tuned folders of one base in, one folder that serves all their tasks out."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal

from spanwise.cli.console import print_json, print_table, say
from spanwise.errors import ConfigError

if TYPE_CHECKING:
    from spanwise.interop.combined.combine import StoredTask

WHOLE = "whole"


def combine(
    base: str,
    /,
    *folders: str,
    out: Path,
    rank: list[str] | None = None,
    dtype: Literal["fp32", "bf16"] | None = None,
    replace: bool = False,
    json: bool = False,
) -> None:
    """Put models that were fine-tuned from one base into one folder: the base once, per task its changes and its head.

    Parameters
    ----------
    base
        Model that the tasks were fine-tuned from; its own tasks, if it has some, stay.
    folders
        Fine-tuned folders or run folders, one per task.
    out
        Folder to write; it must not exist.
    rank
        Store matrices as what they differ from the base, in two factors of this rank: 32 for all tasks, tagging=32 or
        qa=whole for one. May be repeated. Default: whole, which is exact but for the type of the numbers.
    dtype
        Of the numbers in the files. Default: that of the base; bf16 rounds what was fine-tuned, fp32 does not.
    replace
        Put a task in the place of the one that the base has already.
    json
        Print one JSON object.
    """
    from dataclasses import asdict

    from spanwise.interop.combined.combine import combine as run_combination

    made = run_combination(base, folders, out, ranks=ranks_of(rank or []), dtype=dtype, replace=replace)
    if json:
        print_json(asdict(made))
        return
    print_table(COLUMNS, map(row, made.tasks))
    say(f"Model: {made.folder} ({made.dtype})")
    if made.is_rounded:
        say("The new tasks are rounded to bf16, so that their answers differ a little (see --dtype).")
    task = made.tasks[0].task
    say(f"Next: spanwise predict {task} --model {quote(str(made.folder))} --input FILE --output predictions.json")


COLUMNS = ("task", "MB", "rank", "tensors whole", "in factors", "as the base", "squared difference kept, %")


def row(task: "StoredTask") -> tuple[object, ...]:
    """Return a task as a row of the table."""
    from spanwise.interop.combined.combine import megabytes

    kept = task.kept_share
    return (
        task.task,
        megabytes(task.num_bytes),
        WHOLE if task.rank is None else str(task.rank),
        task.num_whole,
        task.num_factored,
        task.num_unchanged,
        None if kept is None else f"{100 * kept:.1f}",
    )


def ranks_of(given: list[str]) -> dict[str, int | None]:
    """Return the ranks of `--rank` by task, "" for all others. Raises: ConfigError for what is no rank."""
    found: dict[str, int | None] = {}
    for text in given:
        task, _, value = text.rpartition("=")
        if value != WHOLE and not (value.isascii() and value.isdigit()):
            raise ConfigError(f"--rank {text}: give a whole number or {WHOLE}, or one of them for a task (tagging=32).")
        if task in found:
            raise ConfigError(f"--rank is given twice for {task or 'all tasks'}; give it once.")
        found[task] = None if value == WHOLE else int(value)
    return found
