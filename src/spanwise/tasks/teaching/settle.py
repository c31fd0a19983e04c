"""Settle what a recipe of fine-tuning leaves `auto`, say what was taken and why, and take it from the record later."""

import math
from dataclasses import replace
from pathlib import Path

from spanwise.config import override
from spanwise.errors import CheckpointError
from spanwise.nn.config import EncoderConfig
from spanwise.runtime.json_text import decode_json
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.tasks.teaching import rule


def with_rate_and_dropout(recipe: FinetuningRecipe, config: EncoderConfig) -> FinetuningRecipe:
    """Return the recipe with what the encoder decides, where it is open."""
    if recipe.training.learning_rate == "auto":
        rate = rule.usual_rate(config.hidden_size, config.num_layers)
        recipe = replace(recipe, training=replace(recipe.training, learning_rate=rate))
    if recipe.hidden_dropout == "auto":
        recipe = replace(recipe, hidden_dropout=rule.usual_dropout(config.hidden_size, config.hidden_dropout))
    return recipe


def with_epochs(recipe: FinetuningRecipe, num_examples: int, *, knows_task: bool) -> FinetuningRecipe:
    """Return the recipe with what the number of examples decides, where it is open.

    knows_task: training goes on from a model that examples of the same task have taught.
    """
    if recipe.training.num_epochs != "auto":
        return recipe
    epochs = recipe.task.further_epochs if knows_task else None
    epochs = epochs or rule.usual_epochs(max(1, math.ceil(num_examples / recipe.batch_size)))
    return replace(recipe, training=replace(recipe.training, num_epochs=epochs))


def explained(
    asked: FinetuningRecipe, taken: FinetuningRecipe, config: EncoderConfig, num_examples: int, *, knows_task: bool
) -> str:
    """Return what the rule took and why, in a line; "" where nothing was open."""
    said = []
    if asked.training.learning_rate == "auto":
        shape = f"{config.num_layers} layers {config.hidden_size} wide"
        said.append(f"rate {shown_rate(taken.training.peak_rate)} for {shape}")
    if asked.training.num_epochs == "auto":
        epochs = taken.training.num_epochs
        why = f", so that there are {rule.LEAST_STEPS} steps" if epochs != rule.EPOCHS else ""
        if knows_task and taken.task.further_epochs:
            why = ", as the model has learned this task before"
        said.append(f"{epochs:g} epochs for {num_examples:,} examples{why}")
    if asked.hidden_dropout == "auto":
        why = "as it was pre-trained" if config.hidden_dropout == 0 else f"below {rule.WIDE} wide"
        said.append(f"dropout {taken.hidden_dropout:g}" if taken.hidden_dropout else f"no dropout, {why}")
    return f"Taught as usual: {'; '.join(said)}." if said else ""


def shown_rate(rate: float) -> str:
    """Return 3e-5 for 3e-05."""
    digits, _, power = f"{rate:.1e}".partition("e")
    return f"{digits.removesuffix('.0')}e{int(power)}"


def as_recorded(recipe: FinetuningRecipe, record: Path) -> FinetuningRecipe:
    """Return the recipe with the values that its run recorded in recipe.json, where it leaves them open.

    A run that goes on must not compute them anew: the rule, or the examples of a file, may have changed since.
    Raises: CheckpointError where the file is damaged.
    """
    training = recipe.training
    is_open = {
        "training.learning_rate": training.learning_rate == "auto",
        "training.num_epochs": training.num_epochs == "auto",
        "hidden_dropout": recipe.hidden_dropout == "auto",
    }
    if not any(is_open.values()) or not record.exists():
        return recipe
    try:
        known = decode_json(record.read_text(encoding="utf-8"))["recipe"]
        values = {**{f"training.{name}": value for name, value in known["training"].items()}, **known}
        found = {path: values[path] for path in is_open if is_open[path]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{record} can't be read ({error!r}); restore it, or start a new run.") from error
    if found.get("training.num_epochs", 0) is None:  # it had another length, so the resume is refused by that
        del found["training.num_epochs"]
    changes = [f"{path}={'null' if value is None else value}" for path, value in found.items()]
    taken: FinetuningRecipe = override(recipe, changes)
    return taken
