"""Tasks that were learned from the start are carried over to the start adapted, without any step.

What fine-tuning changed is added to what adaptation changed: adapted + (fine-tuned - start), tensor by tensor, and the
heads stay as they were taught. Both changes are small and begin at the same weights, so little of either is lost
(records/adaptation has names and questions).

Source: Ilharco et al. 2023 (task arithmetic: differences of fine-tuned weights from one start can be added).
"""

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import Checkpoint
from spanwise.interop.combined.belongs import recorded_task
from spanwise.interop.combined.changes import Changes, Tensors, as_stored, read_changes
from spanwise.interop.combined.combine import copy_task, name_in_card, stored_task
from spanwise.interop.combined.reading import CARRIED, with_task
from spanwise.interop.huggingface import read_folder
from spanwise.interop.json_files import read_json_object, write_json
from spanwise.interop.record import RECORD, changes_file, write_record
from spanwise.interop.token_types import with_token_types
from spanwise.runtime.disk import DISK
from spanwise.tasks.checkpoint import stored_task as task_as_recorded
from spanwise.tasks.registry import TASKS, task_recipe
from spanwise.weights.learned_from import LEARNED_FROM, as_record, learned_by


def check_tasks(start: Checkpoint, name: str) -> None:
    """Refuse a start whose tasks could not be carried over; `name` is what a person calls it. Raises: CheckpointError.

    A model that was fine-tuned in a folder of its own is refused too: it no longer predicts hidden words, and the
    weights that its change is to be measured from are not there.
    """
    if (own := recorded_task(start)) is not None:
        raise CheckpointError(
            f"{name} was fine-tuned for {own!r}, and going on with it would lose that. Adapt the model that it was "
            f"fine-tuned from, and fine-tune the result; or put both into one folder, which keeps its tasks: "
            f"spanwise combine BASE {name} --out FOLDER (with --replace where BASE has {own!r} too), then spanwise "
            "adapt FOLDER."
        )
    for task in start.tasks:
        if task not in TASKS:
            raise CheckpointError(
                f"{name} has a task {task!r}, which this version does not know, so it can't be carried over. Adapt "
                f"its encoder alone: spanwise convert {name} FOLDER, then spanwise adapt FOLDER."
            )
        _new_token_types(start, task)


def keep_tasks(start: Checkpoint, folder: Path) -> None:
    """Copy the tasks of `start` as they are to the model folder `folder`, which has the same encoder."""
    if start.tasks:
        for task in start.tasks:
            copy_task(start, task, folder)
        _finish(start, folder)


def carry_tasks(start: Checkpoint, folder: Path, name: str) -> None:
    """Add the tasks of `start` to the model folder `folder`, whose encoder was adapted from it; `name` is what a person
    calls the start. The vocabulary may have grown in between."""
    if not start.tasks:
        return
    adapted = read_folder(folder)
    for task in start.tasks:
        new_types = _new_token_types(start, task)  # they change as the rows that they began as
        before, after = (with_token_types(checkpoint, new_types).tensors for checkpoint in (start, adapted))
        file = changes_file(task)
        DISK.make_folders((folder / file).parent)
        moved_to(read_changes(start.folder / file), before, after).write(folder / file)
        record = read_json_object((start.folder / file).parent / RECORD)
        learned = [*learned_by(adapted.record, name), *learned_by(record, name)]
        changed = {LEARNED_FROM: as_record(learned), CARRIED: record.get(CARRIED, name)}
        record.pop("dev_scores", None)  # they were the start's
        write_json((folder / file).parent / RECORD, {**record, **changed})
    _finish(start, folder)


def moved_to(changes: Changes, start: Tensors, adapted: Tensors) -> Changes:
    """Return changes of `start` as changes of `adapted`: factors are differences and stay as they are, and a whole
    tensor is moved by what adaptation changed of it. Words that the vocabulary gained are changed by no task."""
    whole = {}
    for name, tensor in changes.whole.items():
        if name not in start or name not in adapted:  # a part that only the task has
            whole[name] = tensor
            continue
        whole[name] = adapted[name].clone()
        whole[name][: len(tensor)] += tensor.float() - start[name]
    up = {name: _with_rows(factor_MR, adapted[name]) for name, factor_MR in changes.up.items()}
    heads = {name: as_stored(head) for name, head in changes.heads.items()}
    return replace(changes, whole=whole, up=up, heads=heads)


def _new_token_types(start: Checkpoint, task: str) -> tuple[int, ...]:
    """Return the rows that the token types which a task added began as. Raises: CheckpointError for damaged files."""
    fine_tuned = with_task(start, task)
    return task_as_recorded(fine_tuned, task_recipe(task).task.started_from(fine_tuned)).new_token_types(start)


def _with_rows(factor_MR: Tensor, matrix: Tensor) -> Tensor:
    """Return a factor with rows of zeros for those that the matrix has more."""
    return torch.cat([factor_MR, factor_MR.new_zeros(len(matrix) - len(factor_MR), factor_MR.shape[1])])


def _finish(start: Checkpoint, folder: Path) -> None:
    """Write the record and the card of a folder that got tasks."""
    write_record(folder, read_json_object(folder / RECORD))
    name_in_card(folder, [stored_task(folder, task) for task in start.tasks])
