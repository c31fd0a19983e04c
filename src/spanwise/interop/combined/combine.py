"""Several fine-tuned models of one base made into one folder: the base, and per task what it changes and its head."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import Checkpoint
from spanwise.interop.combined.belongs import MAY_DIFFER, check_belongs, recorded_task, task_of
from spanwise.interop.combined.changes import Changes, changes_between, fits_bf16
from spanwise.interop.combined.reading import STORED, carried_line, with_task
from spanwise.interop.convert import STORED_TYPES, StoredType, rewrite
from spanwise.interop.folder_plan import as_type
from spanwise.interop.huggingface import read_folder
from spanwise.interop.json_files import JsonObject, read_json_object, write_json
from spanwise.interop.model_card import add_tasks
from spanwise.interop.record import FORMAT_VERSION, MANAGED, RECORD, changes_file, write_record
from spanwise.interop.tensor_files import CHANGES
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import atomic_folder
from spanwise.runtime.suggest import did_you_mean
from spanwise.weights.learned_from import learned_lines

Ranks = Mapping[str, int | None]
EVERY = ""  # stands in `Ranks` for the tasks that it does not name


@dataclass(frozen=True, kw_only=True)
class StoredTask:
    """How a task is stored: its size, and how many of the encoder's tensors are whole, factored or the base's.

    `kept_share` is the part of the squared difference (0 to 1) that the factors hold; None where there are none.
    """

    task: str
    num_bytes: int
    rank: int | None
    num_whole: int
    num_factored: int
    num_unchanged: int
    kept_share: float | None


@dataclass(frozen=True, kw_only=True)
class Combined:
    """A combined folder: all its tasks in order of their names, and the type of its numbers, to which those of the new
    tasks may have been rounded."""

    folder: Path
    tasks: tuple[StoredTask, ...]
    dtype: StoredType
    is_rounded: bool


def combine(
    base: str | Path,
    folders: Sequence[str | Path],
    out: str | Path,
    *,
    ranks: Ranks | None = None,
    dtype: StoredType | None = None,
    replace: bool = False,
) -> Combined:
    """Write `out`, which appears whole or not at all: the model of `base` with the tasks that it has, and those of
    `folders`, each fine-tuned from the base for one task.

    ranks: per task (`EVERY`: all others) the rank of the factors that matrices are stored in; None, the default: whole.
    dtype: of the numbers; None: that of the base. With bf16 the base is rounded first, and what is whole then is the
    task's weights rounded. replace: a task that the base has already gives way to the new one.
    Raises: CheckpointError for a folder that is damaged, or does not belong to the base; ConfigError for two folders of
    one task, a task that the base has, a rank of a task that is not given, and where `out` exists.
    """
    if not folders:
        raise ConfigError("nothing to combine: name at least one fine-tuned folder behind the base.")
    start = read_folder(base)
    start.check_native("combining tasks")
    tuned = _tasks(start, folders, may_replace=replace)
    _check_ranks(ranks or {}, tuned)
    kept = [task for task in start.tasks if task not in tuned]
    stored_type = _stored_type(start, kept, dtype)
    number_type = STORED_TYPES[stored_type]
    rounded = {name: tensor.float() for name, tensor in as_type(start.tensors, number_type).items()}
    with atomic_folder(out) as folder:
        rewrite(start, folder, dtype=number_type)
        for task in kept:
            copy_task(start, task, folder)
        for task, checkpoint in tuned.items():
            rank = (ranks or {}).get(task, (ranks or {}).get(EVERY))
            _write(folder, task, checkpoint, start, rounded, rank, number_type)
        write_record(folder, read_json_object(folder / RECORD))
        found = [stored_task(folder, task) for task in sorted([*kept, *tuned])]
        name_in_card(folder, found)
    is_rounded = stored_type == "bf16" and not all(map(_fits_bf16, tuned.values()))
    return Combined(folder=Path(out), tasks=tuple(found), dtype=stored_type, is_rounded=is_rounded)


def stored_task(folder: Path, task: str) -> StoredTask:
    """Return how a task of a combined folder is stored. Raises: CheckpointError where its record does not say so."""
    path = folder / changes_file(task)
    stored = read_json_object(path.parent / RECORD).get(STORED)
    try:
        return StoredTask(task=task, num_bytes=path.stat().st_size, **(stored or {}))
    except TypeError:
        raise CheckpointError(
            f"{path.parent / RECORD}: {STORED!r} does not say how the task is stored. Copy the folder again."
        ) from None


def name_in_card(folder: Path, found: Sequence[StoredTask]) -> None:
    """Name the tasks of a combined folder in its card, with what each learned from."""
    add_tasks(folder / "README.md", {one.task: _card_lines(folder, one) for one in found})


def megabytes(num_bytes: int) -> str:
    """Return a size in MB as people read it, rounded up."""
    return f"{math.ceil(num_bytes / 1e5) / 10:.1f}"


def _tasks(start: Checkpoint, folders: Sequence[str | Path], *, may_replace: bool) -> dict[str, Checkpoint]:
    """Return the fine-tuned checkpoints by their tasks, each checked against the base. Raises: as `combine`."""
    found: dict[str, Checkpoint] = {}
    own = recorded_task(start)
    for source in folders:
        checkpoint = read_folder(source)
        checkpoint.check_native("combining tasks")
        task = task_of(checkpoint)
        if task in found:
            raise ConfigError(
                f"{found[task].folder} and {checkpoint.folder} are both fine-tuned for {task!r}; a folder has one "
                "model per task. Name one of them."
            )
        if task == own:
            raise ConfigError(
                f"{start.folder} was itself fine-tuned for {task!r}; take the model that {checkpoint.folder} began "
                "with."
            )
        if task in start.tasks and not may_replace:
            raise ConfigError(
                f"{start.folder} has the task {task!r} already; --replace (in Python, replace=True) puts the one of "
                f"{checkpoint.folder} in its place."
            )
        check_belongs(start, checkpoint, task)
        found[task] = checkpoint
    return found


def _check_ranks(ranks: Ranks, tuned: Mapping[str, Checkpoint]) -> None:
    for task, rank in ranks.items():
        if task != EVERY and task not in tuned:
            raise ConfigError(
                f"a rank is given for {task!r}, and the folders are of {', '.join(tuned)}.{did_you_mean(task, tuned)}"
            )
        if rank is not None and rank < 1:
            raise ConfigError(f"a rank is a whole number of at least 1, got {rank}; 'whole' stores whole tensors.")


def _stored_type(start: Checkpoint, kept: Sequence[str], dtype: StoredType | None) -> StoredType:
    """Return the type of the numbers: as asked, else bf16 where those of the base lose nothing by it."""
    own: StoredType = "bf16" if _fits_bf16(start) else "fp32"
    if kept and dtype not in (None, own):
        raise ConfigError(
            f"{start.folder} has the tasks {', '.join(kept)}, which are stored as changes of its numbers in {own}; "
            "leave --dtype out, or combine anew from folders of single tasks."
        )
    return dtype or own


def _fits_bf16(checkpoint: Checkpoint) -> bool:
    """Return whether bf16 loses nothing of a model's numbers."""
    return all(
        map(fits_bf16, (*checkpoint.tensors.values(), *(t for h in checkpoint.heads.values() for t in h.values())))
    )


def copy_task(start: Checkpoint, task: str, folder: Path) -> None:
    """Copy a task of `start` as it is to `folder`, which has the same encoder, after a look at its files."""
    with_task(start, task)
    target = folder / changes_file(task)
    DISK.copy_tree((start.folder / changes_file(task)).parent, target.parent)


def _write(
    folder: Path,
    task: str,
    tuned: Checkpoint,
    start: Checkpoint,
    rounded: Mapping[str, Tensor],
    rank: int | None,
    dtype: torch.dtype,
) -> None:
    heads = _new_heads(start, tuned, dtype)
    changes = changes_between(rounded, tuned.tensors, heads, rank, dtype)
    path = folder / changes_file(task)
    DISK.make_folders(path.parent)
    changes.write(path)
    ours, theirs = asdict(tuned.config), asdict(start.config)
    write_json(
        path.parent / RECORD,
        {
            **{name: value for name, value in tuned.record.items() if name not in MANAGED},
            "format_version": FORMAT_VERSION,
            "model_type": tuned.model_type,
            "architecture": tuned.source_class,
            "labels": list(tuned.labels),
            "role_ids": tuned.role_ids,
            "heads": dict.fromkeys(sorted(heads), CHANGES),
            "encoder": {name: ours[name] for name in MAY_DIFFER if ours[name] != theirs[name]},
            STORED: _stored_entries(changes, rank, len(tuned.tensors)),
        },
    )


def _stored_entries(changes: Changes, rank: int | None, num_tensors: int) -> JsonObject:
    num_whole, num_factored = len(changes.whole), len(changes.up)
    return {
        "rank": rank,
        "num_whole": num_whole,
        "num_factored": num_factored,
        "num_unchanged": num_tensors - num_whole - num_factored,
        "kept_share": changes.kept_share,
    }


def _new_heads(start: Checkpoint, tuned: Checkpoint, dtype: torch.dtype) -> dict[str, dict[str, Tensor]]:
    """Return the heads of a fine-tuned model that the base has not as they are."""

    def is_same(name: str, tensors: Mapping[str, Tensor]) -> bool:
        before = start.heads.get(name)
        return (
            before is not None
            and not start.is_labelled(name)
            and before.keys() == tensors.keys()
            and all(torch.equal(tensor.to(dtype), before[key].to(dtype)) for key, tensor in tensors.items())
        )

    return {name: dict(tensors) for name, tensors in tuned.heads.items() if not is_same(name, tensors)}


def _card_lines(folder: Path, stored: StoredTask) -> list[str]:
    record = read_json_object((folder / changes_file(stored.task)).parent / RECORD)
    how = (
        "changed tensors whole"
        if stored.rank is None
        else f"its difference from the encoder in matrices of rank {stored.rank}"
    )
    came = "".join(f" {line}" for line in carried_line(record))
    first = f"`{stored.task}`: {megabytes(stored.num_bytes)} MB, {how}.{came} It learned from:"
    return [first, *(f"  {line}" for line in learned_lines(record))]
