"""`spanwise score`: the official metrics of a file of predictions, alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from spanwise.cli.console import print_json, print_table
from spanwise.cli.options.ranges import between

if TYPE_CHECKING:
    from spanwise.tasks.base import Scores, Task


def score(
    task: str,
    /,
    *,
    data: Path,
    predictions: Path,
    recipe: str | None = None,
    overrides: Annotated[list[str] | None, Parameter(name="--set")] = None,
    null_odds: Annotated[Path | None, Parameter(name=["--null-odds", "--na-prob-file"])] = None,
    null_threshold: Annotated[
        float | None, Parameter(name=["--null-threshold", "--na-prob-thresh"], validator=between(-1e9, 1e9))
    ] = None,
    json: bool = False,
) -> None:
    """Score predictions as the task's official script does; a missing prediction counts as wrong.

    Parameters
    ----------
    task
        qa, classification, multiple-choice, relation, tagging, coref, or my_task.py:my_task.
    data
        Labelled data: for qa a SQuAD file, for classification a table of texts, ...
    predictions
        What to score, as predict writes it: for qa a JSON object of question id to answer text; empty text means "no
        answer".
    recipe
        Which of the task's recipes the data belongs to, such as a data set by name. Default: its first.
    overrides
        How the data is read, where fine-tuning was told: path=value, for example task.label=stars. May be repeated.
    null_odds
        qa: JSON object of question id to a number that grows with the belief in "no answer"; adds the best thresholds.
    null_threshold
        qa: null odds above this number count as "no answer". Default: 1.
    json
        Print one JSON object with the official script's keys, at full precision.
    """
    from spanwise.config import override
    from spanwise.errors import ConfigError
    from spanwise.tasks.registry import task_recipe

    part = override(task_recipe(task, recipe), overrides or []).task
    given = {"null_odds": null_odds, "null_threshold": null_threshold}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in part.score_options:
            raise ConfigError(f"task {task!r} has no use for --{name.replace('_', '-')}; leave it out.")
    found = part.score_files(data, predictions, given)
    if json:
        print_json(found.scores)
        return
    print_scores(part, found.scores)
    for note in found.notes:
        print(note)


def print_scores(task: "Task", scores: "Scores") -> None:
    """Print what the task makes of its scores: a table, and lines below it."""
    table = task.score_table(scores)
    print_table(table.columns, table.rows)
    for note in table.notes:
        print(note)
