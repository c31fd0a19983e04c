"""Fine-tuned models on disk: a Hugging Face folder whose spanwise.json holds the task's record."""

import dataclasses
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from torch import Tensor

from spanwise.config import from_record, to_record
from spanwise.config.parts import field_names, make_part
from spanwise.config.records import class_name
from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import (
    Checkpoint,
    build_encoder,
    check_vocabulary,
    read_tokenizer,
    warn_of_misfits,
)
from spanwise.interop.combined.reading import read_for_task
from spanwise.interop.convert import Converted, StoredType, convert
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.heads import KINDS, size_of
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.record import RECORD
from spanwise.nn.int8.encoder import prepared_for
from spanwise.runtime.device import Precision, choose_device, resolve_precision
from spanwise.tasks.base import D, F, O, P, Task
from spanwise.tasks.heads import has_own_head, is_taught, stored_head
from spanwise.tasks.model import TaskModel
from spanwise.tasks.registry import TASKS, task_recipe
from spanwise.text.tokenizers import Tokenizer

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class LoadedTask(Generic[D, F, O, P]):
    """A model that can answer: its task with all options, encoder and head, and the tokenizer.

    `is_recorded` says that the options come from the folder, and are not only defaults.
    """

    task: Task[D, F, O, P]
    model: TaskModel[D, F, O, P]
    tokenizer: Tokenizer
    folder: Path
    is_recorded: bool = False


def load_task_model(
    source: str | Path,
    task_name: str,
    *,
    tokenizer: str | Path | Tokenizer | None = None,
    device: str | None = None,
    precision: Precision = "auto",
    on_overflow: str | None = None,
) -> LoadedTask:
    """Load a model fine-tuned for a task, from our folders or any folder of the task's Hugging Face class. Of a folder
    with several tasks (`spanwise combine`) it is the one asked for.

    Options that training chose (lengths, thresholds) come from the folder; a folder of others has the defaults.
    on_overflow: another answer to texts that are too long than the folder's; None: the folder's.
    precision: "int8" makes bytes of the layers' weights now; all others are chosen when the model is asked.
    Raises: CheckpointError where the folder has no head for the task, no tokenizer, or one that does not fit;
    ConfigError for int8 where this machine has no products of bytes.
    """
    recipe = task_recipe(task_name)
    where = choose_device(device, precision)
    resolve_precision(precision, where)
    checkpoint = read_for_task(source, task_name)
    warn_of_misfits(checkpoint)
    default = recipe.task.started_from(checkpoint)
    _check_head(checkpoint, default, task_name, source)
    task = stored_task(checkpoint, default)
    _warn_of_untaught(checkpoint, task)
    encoder = build_encoder(checkpoint)
    model = TaskModel(task, prepared_for(precision, encoder), stored_head(checkpoint, task, encoder))
    model.to(where).eval()
    loaded = LoadedTask(
        task=task,
        model=model,
        tokenizer=open_tokenizer(checkpoint, tokenizer),
        folder=checkpoint.folder,
        is_recorded=isinstance(checkpoint.record.get("task"), Mapping),
    )
    return _with_overflow(loaded, on_overflow)


def known_tasks(source: str | Path) -> list[str]:
    """Return the names of the package's tasks that a folder was fine-tuned for; of a combined folder all of them.

    Raises: CheckpointError as `read_folder`.
    """
    checkpoint = read_folder(source)
    if checkpoint.tasks:
        return [name for name in TASKS if name in checkpoint.tasks]
    found = []
    for name in TASKS:
        default = task_recipe(name).task.started_from(checkpoint)
        record = checkpoint.record.get("task")
        is_recorded = isinstance(record, Mapping) and record.get("part") == class_name(type(default))
        if default.head_name in checkpoint.heads and (is_recorded or checkpoint.is_labelled(default.head_name)):
            try:
                stored_task(checkpoint, default)
            except CheckpointError:  # another task's head
                continue
            found.append(name)
    return found


def convert_task(
    source: str | Path,
    task_name: str,
    target: str | Path,
    tokenizer: str | Path | None = None,
    *,
    dtype: StoredType = "fp32",
) -> Converted:
    """Write the model of a task as a plain folder of its own, as `interop.convert.convert` does of a base.

    Raises: CheckpointError where the folder has no model of the task; as `convert`.
    """
    default = task_recipe(task_name).task
    checkpoint = read_for_task(source, task_name)
    default = default.started_from(checkpoint)
    _check_head(checkpoint, default, task_name, source)
    task = stored_task(checkpoint, default)
    if isinstance(checkpoint.record.get("task"), Mapping):  # a combined folder's config.json says nothing of its tasks
        checkpoint = dataclasses.replace(checkpoint, problem_type=task.problem_type)
    return convert(checkpoint, target, tokenizer, dtype=dtype, finish=task.saved_tokenizer)


def _check_head(checkpoint: Checkpoint, task: Task, task_name: str, source: str | Path) -> None:
    """Refuse a folder without a head for the task. Raises: CheckpointError that lists the tasks that it has."""
    if task.head_name in checkpoint.heads:
        return
    has = f"; the folder's tasks: {', '.join(checkpoint.tasks)}" if checkpoint.tasks else ""
    raise CheckpointError(
        f"{source} ({checkpoint.source_class}) has no head for {task_name!r}{has}. Answers from a fresh head would be "
        f"noise. Fine-tune it first: spanwise finetune {task_name} --model {source} --train FILE --out RUN"
    )


def stored_task(checkpoint: Checkpoint, default: Task) -> Task:
    """Return the task as the folder recorded it, or `default` with the labels of config.json where it recorded none.

    Raises: CheckpointError where the folder's labels are those of another task.
    """
    record = checkpoint.record.get("task")
    name = class_name(type(default))
    if isinstance(record, Mapping) and record.get("part") == name:
        try:
            task: Task = from_record(record, [type(default)])
        except ConfigError as error:
            raise CheckpointError(f"{checkpoint.folder / RECORD}: {error} Copy the folder again.") from None
        if not has_own_head(task):
            _check_size(checkpoint, task)
        return task
    if (
        isinstance(record, Mapping)
        and record.get("part")
        and (default.head_name not in KINDS or not has_own_head(default) or not KINDS[default.head_name].is_labelled)
    ):
        raise CheckpointError(
            f"{checkpoint.folder} was fine-tuned for the task {record['part']!r}, not for {name!r}; what its "
            "heads say means something else."
        )
    if has_own_head(default):
        return default
    size = size_of(default.head_name, checkpoint.heads[default.head_name])
    return default.labelled(checkpoint.labels, size[0] if size else 1, checkpoint.problem_type)


def _check_size(checkpoint: Checkpoint, task: Task) -> None:
    """Refuse a folder whose record names other labels than its head has scores. Raises: CheckpointError."""
    size = size_of(task.head_name, checkpoint.heads[task.head_name])
    if task.head_size and size and size != task.head_size:
        raise CheckpointError(
            f"{checkpoint.folder}: spanwise.json names {task.head_size[0]} labels ({', '.join(task.labels[:4])}), and "
            f"the {task.head_name} head has {size[0]} scores; they do not belong together. Copy the folder again."
        )


def _warn_of_untaught(checkpoint: Checkpoint, task: Task) -> None:
    """Log a warning where the head that answers comes from pre-training, and no labelled task has taught it."""
    if task.head_name in KINDS and not is_taught(checkpoint, task.head_name):
        logger.warning(
            "%s: the head %r comes from pre-training and was never taught this task; it answers as well as it can.",
            checkpoint.folder,
            task.head_name,
        )


def _with_overflow(loaded: LoadedTask, on_overflow: str | None) -> LoadedTask:
    """Return the same model with another answer to texts that are too long.

    Raises: ConfigError where the task has no such choice, or not this one.
    """
    has_choice = hasattr(loaded.task, "on_overflow")
    if on_overflow is None or (on_overflow == "error" and not has_choice):  # no text is too long for such a task
        return loaded
    if not has_choice:
        raise ConfigError(
            f"task {class_name(type(loaded.task))!r} reads texts of any length in windows; leave on_overflow out."
        )
    values = {name: getattr(loaded.task, name) for name in field_names(type(loaded.task))}
    task = make_part(type(loaded.task), {**values, "on_overflow": on_overflow}, "task")
    loaded.model.task = task
    return dataclasses.replace(loaded, task=task)


def open_tokenizer(checkpoint: Checkpoint, tokenizer: str | Path | Tokenizer | None) -> Tokenizer:
    """Return the tokenizer given (also a folder), or the one beside the weights.

    Raises: CheckpointError where there is none, or it has more tokens than the encoder.
    """
    words = tokenizer if isinstance(tokenizer, Tokenizer) else read_tokenizer(checkpoint, tokenizer)
    if words is None:
        raise CheckpointError(
            f"{checkpoint.folder} has no tokenizer; name the folder of its tokenizer.json or vocab.txt."
        )
    check_vocabulary(checkpoint, words)
    return words


def save_task_model(
    folder: Path,
    model: TaskModel,
    tokenizer: Tokenizer,
    *,
    other_heads: Mapping[str, Mapping[str, Tensor]],
    model_type: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Write the folder of the task's class, as `task_content` says."""
    write_folder(folder, task_content(model, tokenizer, other_heads=other_heads, model_type=model_type, extra=extra))


def task_content(
    model: TaskModel,
    tokenizer: Tokenizer,
    *,
    other_heads: Mapping[str, Mapping[str, Tensor]],
    model_type: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> FolderContent:
    """Return what a folder of a fine-tuned model holds; heads of earlier training (MLM, SBO) go to heads.safetensors.

    model_type: the family of the checkpoint that the encoder came from, which the folder stays in.
    """
    task = model.task
    heads = {name: head for name, head in other_heads.items() if name != task.head_name}
    return FolderContent(
        model.encoder,
        {**heads, task.head_name: model.head},
        task.saved_tokenizer(tokenizer),
        main_head=task.head_name,
        main_kind="task",
        model_type=model_type,
        extra={"task": to_record(task), **(extra or {})},
        labels=task.labels,
        problem_type=task.problem_type,
        facts=task.facts(model.encoder.config),
        pipeline=task.pipeline_name,
    )
