"""Tasks that were learned from the start are carried over to the start adapted, without any step.

What fine-tuning changed is added to what adaptation changed: adapted + (fine-tuned - start), tensor by tensor, and the
heads stay as they were taught. Both changes are small and begin at the same weights, so their sum keeps most of either.

Source: Ilharco et al. 2023 (task arithmetic: differences of fine-tuned weights from one start can be added).
"""

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from spanwise.interop.checkpoint import Checkpoint
from spanwise.interop.combined.changes import Changes, Tensors, read_changes
from spanwise.interop.combined.combine import name_in_card, stored_task
from spanwise.interop.combined.reading import CARRIED, with_task
from spanwise.interop.huggingface import read_folder
from spanwise.interop.json_files import read_json_object, write_json
from spanwise.interop.record import RECORD, changes_file, write_record
from spanwise.interop.token_types import with_token_types
from spanwise.runtime.disk import DISK
from spanwise.tasks.checkpoint import stored_task as recorded_task
from spanwise.tasks.registry import task_recipe
from spanwise.weights.learned_from import LEARNED_FROM, as_record, learned_by

OF_THE_START = ("dev_scores",)  # of a task's record: measured before, so no longer known


def carry_tasks(start: Checkpoint, folder: Path, *, name: str) -> None:
    """Add the tasks of `start` to the model folder `folder`, whose encoder was adapted from it; `name` is what a person
    calls the start. The vocabulary may have grown in between.

    Raises: CheckpointError for a file of a task that is missing or damaged.
    """
    if not start.tasks:
        return
    adapted = read_folder(folder)
    for name_of_task in start.tasks:
        fine_tuned = with_task(start, name_of_task)
        task = recorded_task(fine_tuned, task_recipe(name_of_task).task.started_from(fine_tuned))
        new_types = task.new_token_types(start)  # they change as the rows that they began as
        before, after = (with_token_types(checkpoint, new_types).tensors for checkpoint in (start, adapted))
        file = changes_file(name_of_task)
        DISK.make_folders((folder / file).parent)
        moved_to(read_changes(start.folder / file), before, after).write(folder / file)
        learned = (learned_by(record, name) for record in (adapted.record, fine_tuned.record))
        record = read_json_object((start.folder / file).parent / RECORD)
        write_json(
            (folder / file).parent / RECORD,
            {
                **{key: value for key, value in record.items() if key not in OF_THE_START},
                LEARNED_FROM: as_record([entry for listed in learned for entry in listed]),
                CARRIED: name,
            },
        )
    write_record(folder, read_json_object(folder / RECORD))
    name_in_card(folder, [stored_task(folder, task) for task in start.tasks])


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
    return replace(changes, whole=whole, up=up)


def _with_rows(factor_MR: Tensor, matrix: Tensor) -> Tensor:
    """Return a factor with rows of zeros for those that the matrix has more."""
    return torch.cat([factor_MR, factor_MR.new_zeros(len(matrix) - len(factor_MR), factor_MR.shape[1])])
