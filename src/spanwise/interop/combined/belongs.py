"""Which fine-tuned folders go with a base: of a task of the package, and of the same encoder and tokenizer."""

import re
from collections.abc import Mapping
from dataclasses import asdict

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import Checkpoint, read_tokenizer
from spanwise.interop.record import RECORD, TASK_NAME

# of a task's encoder: no weights, or such as are added
MAY_DIFFER = ("hidden_dropout", "attention_dropout", "pooler", "num_token_types")


def recorded_task(checkpoint: Checkpoint) -> str | None:
    """Return the task that a folder was fine-tuned for, by its record."""
    made = checkpoint.record.get("finetuned")
    task = made.get("task") if isinstance(made, Mapping) and checkpoint.record.get("task") else None
    return task if isinstance(task, str) else None


def task_of(checkpoint: Checkpoint) -> str:
    """Return the task that a folder was fine-tuned for. Raises: CheckpointError for none, ConfigError for a user's."""
    task = recorded_task(checkpoint)
    if task is None and checkpoint.tasks:
        raise CheckpointError(
            f"{checkpoint.folder} is a combined folder ({', '.join(checkpoint.tasks)}); `spanwise convert "
            f"{checkpoint.folder} OUT --task {checkpoint.tasks[0]}` writes one task of it as a folder of its own."
        )
    if task is None:
        raise CheckpointError(
            f"{checkpoint.folder} ({checkpoint.source_class}) was not fine-tuned by spanwise: its {RECORD} names no "
            "task. Name the folders that `spanwise finetune` left."
        )
    if not re.fullmatch(TASK_NAME, task):
        raise ConfigError(
            f"{checkpoint.folder} was fine-tuned for {task}, a task of your own; a combined folder holds the tasks of "
            "the package, which every reader of it knows. Keep this model in a folder of its own."
        )
    return task


def check_belongs(base: Checkpoint, tuned: Checkpoint, task: str) -> None:
    """Refuse a model of another shape, vocabulary or tokenizer than the base. Raises: CheckpointError.

    Its family may be another: the class of a head can be of a family that computes the same encoder.
    """
    begin = f"{tuned.folder} (task {task!r}) does not belong to {base.folder}: "
    words, base_words = read_tokenizer(tuned), read_tokenizer(base)
    added = words.tokens(range(base_words.vocab_size, words.vocab_size)) if words and base_words else []
    if added:
        raise CheckpointError(
            f"{begin}its vocabulary has {', '.join(added[:3])}{', ...' if len(added) > 3 else ''}, which the base "
            "lacks. The base must have a row for each piece: begin with a base whose pre-training had it (as "
            "[QUESTION] of the Splinter recipes), or choose options of the task that need no such piece, and fine-tune "
            "from that base."
        )
    ours, theirs = asdict(tuned.config), asdict(base.config)
    for name in ours:
        if name not in MAY_DIFFER and ours[name] != theirs[name]:
            raise CheckpointError(
                f"{begin}its encoder has {name} = {ours[name]!r}, the base {theirs[name]!r}. Fine-tune from this base, "
                "or name the base that it began with."
            )
    if (words and words.sha256) != (base_words and base_words.sha256):
        how = "missing" if words is None else "another one" if base_words else "there, and the base has none"
        raise CheckpointError(f"{begin}its tokenizer is {how}. Fine-tune with the tokenizer of the base.")
