"""Training that goes on from a fine-tuned head with other labels: rows are kept by name, added fresh, and removed.

A head of K labels has K rows. Labels of the new data that it lacks get rows of random weights behind them; labels that
the new data lacks keep theirs, for the examples that come later; only what is named is removed. A coreference head has
such rows for the genres of its documents. A head that shares no label with the data is another task's, and starts anew.
"""

from dataclasses import dataclass

import torch
from torch import nn

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import Checkpoint
from spanwise.nn.encoder import Encoder
from spanwise.tasks.base import Task
from spanwise.tasks.checkpoint import stored_task
from spanwise.tasks.heads import new_head, stored_head

OF_ALL = ("O", "none")  # rows that heads of any labels have: no entity, no genre


@dataclass(frozen=True)
class Further:
    """The task that is trained, and the one whose head it goes on from; None where its head has the same rows, or
    there is none to go on from."""

    task: Task
    before: Task | None = None

    @property
    def fresh_rows(self) -> list[str]:
        """Return the names of rows that the head to go on from lacks."""
        return [name for name in self.task.row_names if self.before and name not in self.before.row_names]


def going_on(task: Task, checkpoint: Checkpoint, drop_labels: tuple[str, ...], *, is_fresh: bool) -> Further:
    """Return the task with the rows of the folder's head, those of its training data added, those named removed.

    is_fresh: a new head is asked for.
    Raises: ConfigError for a label to remove that the head lacks, that the data has, or where there is no such head.
    """
    before = None if is_fresh else _task_before(task, checkpoint)
    if before is None:
        if drop_labels:
            raise ConfigError(
                f"drop_labels ({', '.join(drop_labels)}): {checkpoint.folder} has no head of these labels to go on "
                "from; leave --drop-label out."
            )
        return Further(task)
    dropped = {row for name in drop_labels for row in _rows_named(name, before, task)}
    kept = [name for name in before.row_names if name not in dropped]
    names = (*kept, *(name for name in task.row_names if name not in kept))
    if names == before.row_names:
        return Further(task.with_rows(names, before))
    return Further(task.with_rows(names, before), before)


def _task_before(task: Task, checkpoint: Checkpoint) -> Task | None:
    """Return the task whose head the folder has, where it is of the same kind and tells one of the same labels."""
    if task.head_name not in checkpoint.heads or not checkpoint.is_labelled(task.head_name) or not task.row_names:
        return None
    if not isinstance(checkpoint.record.get("task"), dict):
        return None
    try:
        before = stored_task(checkpoint, task)
    except CheckpointError:  # of another kind of task; `heads.misfit` says so
        return None
    if type(before) is not type(task) or getattr(before, "kind", None) != getattr(task, "kind", None):
        return None
    shared = set(before.row_names) & set(task.row_names)
    return before if shared - set(OF_ALL) or not task.labels else None


def _rows_named(name: str, before: Task, task: Task) -> list[str]:
    """Return the rows of a label: its own, or those of an entity's tags. Raises: ConfigError."""

    def rows_of(names: tuple[str, ...]) -> list[str]:
        return [row for row in names if row == name or (row[1:2] == "-" and row[2:] == name)]

    found = rows_of(before.row_names)
    if not found or name in OF_ALL:
        raise ConfigError(
            f"--drop-label {name}: the head has no such label to remove; it has {', '.join(before.row_names)}."
        )
    if rows_of(task.row_names):
        raise ConfigError(f"--drop-label {name}: the training data has examples of it; take them out, or keep it.")
    return found


def regrown_head(checkpoint: Checkpoint, further: Further, encoder: Encoder, seed: int) -> nn.Module:
    """Return a head of the new task: fresh rows where the stored head has none of the name, all else as it was."""
    task, before = further.task, further.before
    assert before is not None
    head = new_head(checkpoint, task, encoder, seed)
    old = dict(stored_head(checkpoint, before, encoder).named_parameters())
    places = [before.row_names.index(name) if name in before.row_names else -1 for name in task.row_names]
    with torch.no_grad():
        for name, parameter in head.named_parameters():
            if name not in task.row_tensors:
                parameter.copy_(old[name])
                continue
            for row, place in enumerate(places):
                if place >= 0:
                    parameter[row] = old[name][place]
    return head


def told(further: Further) -> str:
    """Return the sentence for the log: which rows the head keeps, gets and loses."""
    task, before = further.task, further.before
    assert before is not None
    parts = {
        "keeps": [name for name in task.row_names if name in before.row_names],
        "gets fresh rows for": further.fresh_rows,
        "loses": [name for name in before.row_names if name not in task.row_names],
    }
    said = [f"{verb} {', '.join(names)}" for verb, names in parts.items() if names]
    return f"Training goes on from the head {task.head_name!r}, which {'; '.join(said)}."
