"""The model that a fine-tuning run trains: encoder and head out of a checkpoint, fresh where they have to be."""

import dataclasses
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import Checkpoint, build_encoder, fill, warn_of_misfits
from spanwise.interop.huggingface import read_folder
from spanwise.interop.token_types import second_token_type, with_token_types
from spanwise.nn.embeddings import Embeddings
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.runtime.progress import RunLog
from spanwise.tasks.base import Task
from spanwise.tasks.checkpoint import stored_task
from spanwise.tasks.heads import begin_as_modernbert, is_taught, misfit, new_head, stored_head, with_pooler
from spanwise.tasks.model import TaskModel
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.tasks.teaching.further import Further, regrown_head, told

Heads = dict[str, dict[str, Tensor]]


class Built(NamedTuple):
    """What a run trains, and what it found in the folder."""

    model: TaskModel
    kept_heads: Heads  # of earlier training, which stay beside the model
    knows_task: bool  # all of the head goes on, and examples of this task taught it


def build_model(
    checkpoint: Checkpoint, recipe: FinetuningRecipe, further: Further, reset_weights: bool, log: RunLog
) -> Built:
    """Return the model to train, with the heads of earlier training that are kept beside it."""
    task = further.task
    seed = recipe.training.seed
    new_types = task.new_token_types(checkpoint)
    if recipe.second_token_type != "as_is" and not reset_weights:
        checkpoint = second_token_type(checkpoint, recipe.second_token_type)
    checkpoint = with_token_types(checkpoint, new_types)
    config = checkpoint.config
    rates = {name: getattr(recipe, name) for name in ("hidden_dropout", "attention_dropout")}
    config = dataclasses.replace(config, **{name: rate for name, rate in rates.items() if rate is not None})
    encoder = build_encoder(checkpoint, with_pooler(config, checkpoint, task), seed)
    if reset_weights:
        initialize(encoder, encoder.config, seed, prefix="encoder")
        log.say("Weights reset: the encoder starts from random weights of the same shape.")
    else:
        log.say(f"Going on from {checkpoint.folder}: {checkpoint.report}.")
        if not log.is_shown:
            warn_of_misfits(checkpoint)
    is_there = task.head_name in checkpoint.heads and not reset_weights
    as_stored = task if further.before is None else task.with_rows(further.before.row_names, further.before)
    why_not = misfit(checkpoint, as_stored, encoder) if is_there else None
    if is_there and recipe.fresh_head:
        why_not = "fresh_head asks for it"
    if is_there and why_not is None and further.before is not None:
        head = regrown_head(checkpoint, further, encoder, seed)
        log.say(told(further))
    elif is_there and why_not is None:
        head = stored_head(checkpoint, task, encoder)
        log.say(f"The model already has a head {task.head_name!r}; training goes on from it.")
    else:
        head = new_head(checkpoint, task, encoder, seed)
        log.say(f"The head {task.head_name!r} starts fresh{f': {why_not}' if why_not else ''}.")
        if begin_as_modernbert(head, checkpoint, is_learned=not reset_weights):
            log.say("Its layer before the scores is the one that masked LM has learned.")
    _freeze(encoder, recipe.frozen_layers)
    if new_types and isinstance(encoder.embeddings, Embeddings) and encoder.embeddings.token_type is not None:
        encoder.embeddings.token_type.requires_grad_(True)
    knows_task = is_there and why_not is None and not new_types and _knows(checkpoint, further)
    return Built(TaskModel(task, encoder, head), _kept_heads(checkpoint, task, reset_weights, log), knows_task)


def _knows(checkpoint: Checkpoint, further: Further) -> bool:
    """Return whether examples of the task taught every row of the folder's head, asked in the same way.

    A folder that says nothing of how it was taught is taken to be asked in the same way.
    """
    if further.fresh_rows or not is_taught(checkpoint, further.task.head_name):
        return False
    try:
        before = further.before or stored_task(checkpoint, further.task)
    except CheckpointError:  # another task was taught
        return False
    return further.task.asks_as(before)


def _kept_heads(checkpoint: Checkpoint, task: Task, reset_weights: bool, log: RunLog) -> Heads:
    """Return the heads of pre-training; those of earlier fine-tuning are left out, which is said."""
    labelled = {name for name in checkpoint.heads if checkpoint.is_labelled(name)}
    if left_out := sorted(labelled - {task.head_name}):
        names = ", ".join(map(repr, left_out))
        log.say(f"The head {names} of earlier fine-tuning is left out: its encoder is trained on.")
    kept = {name: tensors for name, tensors in checkpoint.heads.items() if name not in labelled and not reset_weights}
    if task.lm_weight:
        kept["clm"] = {}  # the word table, which learns to guess the next token
    return kept


def _freeze(encoder: Encoder, num_layers: int | None) -> None:
    """Keep the embeddings and the lowest layers as they are (0: the embeddings alone; None: nothing is kept).

    Raises: ConfigError where there are fewer layers, or layers that stay share weights with layers that learn.
    """
    if num_layers is None:
        return
    if num_layers > len(encoder.layers):
        raise ConfigError(f"frozen_layers {num_layers} is more than the encoder's {len(encoder.layers)} layers.")
    kept, trained = ({*layers.parameters()} for layers in (encoder.layers[:num_layers], encoder.layers[num_layers:]))
    if kept & trained:  # ALBERT: what is kept of one layer is kept of all
        raise ConfigError(
            f"frozen_layers {num_layers}: this encoder's layers share weights, so none can learn while another stays "
            f"as it is. Take 0, or all {len(encoder.layers)}."
        )
    for part in [encoder.embeddings, *encoder.layers[:num_layers]]:
        part.requires_grad_(False)


def take_weights(model: TaskModel, folder: Path) -> None:
    """Give the model the weights and the task of a folder that it was saved to."""
    saved = read_folder(folder)
    fill(model.encoder, saved.tensors, f"the encoder of {folder}")
    fill(model.head, saved.heads[model.task.head_name], f"the head of {folder}", model.encoder)
    model.task = stored_task(saved, model.task)
