"""The head that a task trains: its own, or a usual one in the form of the family that the encoder comes from.

A head in the folder is trained on where it is this task's: of the same shape, with the same labels, and recorded by the
same kind of task. Else a fresh one takes its place, and that is said.
"""

import dataclasses
from collections.abc import Mapping

import torch
from torch import nn

from spanwise.config.records import class_name
from spanwise.interop.checkpoint import Checkpoint, build_head, fill
from spanwise.interop.heads import KINDS, make_head
from spanwise.interop.tables import BY_MODEL_TYPE
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.qa import QuestionAnsweringHead
from spanwise.nn.heads.sequence import SequenceHead
from spanwise.nn.heads.token import TokenClassificationHead
from spanwise.nn.init import initialize
from spanwise.runtime.outline import outline
from spanwise.tasks.base import Task

LAST_PRODUCT = {TokenClassificationHead: "out", SequenceHead: "out", QuestionAnsweringHead: "linear"}


def has_own_head(task: Task) -> bool:
    """Return whether the task builds its head itself."""
    return type(task).build_head is not Task.build_head


def with_pooler(config: EncoderConfig, checkpoint: Checkpoint, task: Task) -> EncoderConfig:
    """Return the encoder's shape with the pooler that the task's head reads, where it reads one."""
    kind = KINDS.get(task.head_name)
    reads_pooler = kind is not None and kind.has_form and not has_own_head(task)
    if not reads_pooler or checkpoint.form_of(task.head_name) != "pooled":
        return config
    return dataclasses.replace(config, pooler=True)


def new_head(checkpoint: Checkpoint, task: Task, encoder: Encoder, seed: int) -> nn.Module:
    """Return a fresh head of the task for `encoder`, its weights drawn from `seed`."""
    head = _empty_head(checkpoint, task, encoder)
    initialize(head, encoder.config, seed, prefix=task.head_name)
    return head


def begin_as_modernbert(head: nn.Module, checkpoint: Checkpoint, *, is_learned: bool = True) -> bool:
    """Let a fresh head begin as in ModernBERT's classes of Hugging Face; return whether masked LM gave it a layer.

    They have a product, GELU and a norm before the last product, under one name in every head, so that masked LM's is
    read where a task is new (is_learned: where it is not left out with the encoder's weights). They draw the last
    product from a deviation of D ** -0.5, D the hidden size: with BERT's 0.02 a narrow encoder learns several times as
    slowly. A head without such a layer, as in other families, and one of a user's own class stay as they are.
    """
    own = getattr(head, "transform", head)  # of a sequence head the product and the norm are its own
    layers = {name: layer for name in ("dense", "norm") if (layer := getattr(own, name, None)) is not None}
    if type(head) not in LAST_PRODUCT or len(layers) < 2:
        return False
    fresh = {f"{name}.{place}": p for name, layer in layers.items() for place, p in layer.named_parameters()}
    learned = checkpoint.heads.get("mlm", {}) if is_learned else {}
    fits = all(name in learned and learned[name].shape == parameter.shape for name, parameter in fresh.items())
    last, config = getattr(head, LAST_PRODUCT[type(head)]), checkpoint.config
    with torch.no_grad():
        last.weight.mul_(config.hidden_size**-0.5 / config.initializer_range)
        for name, parameter in fresh.items() if fits else ():
            parameter.copy_(learned[name])
    return fits


def stored_head(checkpoint: Checkpoint, task: Task, encoder: Encoder) -> nn.Module:
    """Return the head of the task that the folder has, with its weights.

    Raises: CheckpointError where the folder's tensors are not those of the task's head.
    """
    name = task.head_name
    found = build_head(checkpoint, name, encoder) if name in KINDS else None
    if found is None:
        found = _empty_head(checkpoint, task, encoder)
        fill(found, checkpoint.heads[name], f"the {name} head of {checkpoint.folder}", encoder)
    return found


def is_taught(checkpoint: Checkpoint, name: str) -> bool:
    """Return whether a labelled task has taught the head of this name that a folder has."""
    family = BY_MODEL_TYPE.get(checkpoint.model_type)
    architecture = None if family is None else family.architectures.get(checkpoint.source_class)
    is_of_task = architecture is not None and architecture.kind == "task" and name in architecture.heads
    return checkpoint.is_labelled(name) or is_of_task or bool(checkpoint.record.get("task"))


def misfit(checkpoint: Checkpoint, task: Task, encoder: Encoder) -> str | None:
    """Return why the head that the folder has is not this task's, in words; None where it is.

    Raises: KeyError where the folder has no head of this name.
    """
    stored = checkpoint.heads[task.head_name]
    record = checkpoint.record.get("task") if checkpoint.is_labelled(task.head_name) else None
    if isinstance(record, Mapping) and record.get("part") not in (None, class_name(type(task))):
        return f"the one that the model has is of the task {record['part']!r}"
    with outline():
        head = _empty_head(checkpoint, task, encoder)
        shapes = {name: parameter.shape for name, parameter in head.named_parameters()}
    if {name: tensor.shape for name, tensor in stored.items()} != shapes:
        return "the one that the model has is of another shape"
    names = task.labels
    if names and checkpoint.labels != names:
        told = ", ".join(checkpoint.labels[:4]) + (", ..." if len(checkpoint.labels) > 4 else "")
        return f"the one that the model has tells other labels ({told or 'none is named'})"
    return None


def _empty_head(checkpoint: Checkpoint, task: Task, encoder: Encoder) -> nn.Module:
    own = task.build_head(encoder.config)
    return own or make_head(task.head_name, encoder, task.head_size, checkpoint.form_of(task.head_name))
