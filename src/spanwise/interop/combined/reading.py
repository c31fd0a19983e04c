"""A task of a combined folder, read as the fine-tuned folder that it was made of."""

from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import Checkpoint
from spanwise.interop.combined.changes import read_changes
from spanwise.interop.huggingface import read_folder
from spanwise.interop.json_files import Settings
from spanwise.interop.record import OWN_HEADS, RECORD, changes_file, check_sha256, read_entries, with_recorded
from spanwise.interop.tables import BY_MODEL_TYPE
from spanwise.interop.tensor_files import CHANGES
from spanwise.weights.learned_from import LEARNED_FROM, Learned

STORED = "stored"  # of a task's record: how its changes are stored, for a person
CARRIED = "carried_over"  # of a task's record: the base that it was taught on, where that was another
_NEEDED: dict[str, TypeAdapter] = {
    "model_type": TypeAdapter(str),  # of a head's class; it may be another than the base's
    "architecture": TypeAdapter(str),
    "labels": TypeAdapter(list[str]),
    "role_ids": TypeAdapter(dict[str, int]),
    "heads": TypeAdapter(dict[str, str]),
    "encoder": TypeAdapter(dict[str, object]),  # values that differ from the base's, such as dropout
    "task": TypeAdapter(dict[str, object]),
    STORED: TypeAdapter(dict[str, object]),
}
_SHAPES = {
    **_NEEDED,
    "forms": TypeAdapter(dict[str, str]),
    OWN_HEADS: TypeAdapter(dict[str, dict[str, object]]),
    "dev_scores": TypeAdapter(dict[str, object]),
    CARRIED: TypeAdapter(str),
    LEARNED_FROM: TypeAdapter(list[Learned]),
}


def read_for_task(source: str | Path, task: str) -> Checkpoint:
    """Read a model folder for a task: with the task's changes where its `tasks/` has them, else as it is.

    Raises: CheckpointError as `read_folder` and `with_task`.
    """
    checkpoint = read_folder(source)
    return with_task(checkpoint, task) if task in checkpoint.tasks else checkpoint


def carried_line(record: Settings) -> list[str]:
    """Return what a person is told of a task that was taught on another base than it has now; nothing of others."""
    base = record.get(CARRIED)
    return [] if base is None else [f"Carried over from {base} without training, and not measured since."]


def tasks_left_out(checkpoint: Checkpoint) -> str:
    """Return the sentence for a person whose work takes the encoder of a combined folder alone."""
    named = ", ".join(checkpoint.tasks)
    return f"The encoder of {checkpoint.folder} is taken as it is; its tasks ({named}) are left out."


def with_task(checkpoint: Checkpoint, task: str) -> Checkpoint:
    """Return what the folder of one of the checkpoint's tasks was: its encoder, its head beside those of pre-training,
    and its record.

    Raises: CheckpointError for a file of the task that is missing or damaged, or belongs to another encoder.
    """
    name = changes_file(task)
    place = (checkpoint.folder / name).parent
    check_sha256(checkpoint.folder, name, checkpoint.record)
    record = read_entries(place / RECORD, _SHAPES)
    if lacking := [entry for entry in _NEEDED if entry not in record]:
        raise CheckpointError(f"{place / RECORD} has no {lacking[0]!r}; it is damaged. Copy the folder again.")
    if record["model_type"] not in BY_MODEL_TYPE:
        raise CheckpointError(
            f"{place / RECORD}: the head is of the family {record['model_type']!r}, and families are "
            f"{', '.join(BY_MODEL_TYPE)}."
        )
    changes = read_changes(checkpoint.folder / name)
    config = with_recorded(checkpoint.config, record, place)
    tensors = changes.applied(checkpoint.tensors, checkpoint.folder / name)
    if not config.pooler:
        tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith("pooler.")}
    kept = {name: head for name, head in checkpoint.heads.items() if not checkpoint.is_labelled(name)}
    return replace(
        checkpoint,
        config=config,
        tensors=tensors,
        heads={**kept, **{name: {} for name, file in record["heads"].items() if file == CHANGES}, **changes.heads},
        model_type=record["model_type"],
        source_class=record["architecture"],
        labels=tuple(record["labels"]),
        problem_type=None,  # the task itself says it
        record=record,
        role_ids=record["role_ids"],
        report=replace(checkpoint.report, missing=()),
    )
