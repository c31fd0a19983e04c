"""The tasks by name: what `spanwise finetune NAME` looks up.

A task of the package is one folder and one line here. The line names the folder's `RECIPES`: functions that return a
fine-tuning recipe, by name, the default one first. The part in a recipe's `task` extends `tasks.base.Task`; the
commands ask it for everything that differs from task to task (files, scores, tables), so none knows a task by name.

A task of one's own is named as `file.py:function` everywhere: the function returns a recipe, or the task part alone.
"""

import importlib
from collections.abc import Callable, Mapping

from torch import nn

from spanwise.config import to_record
from spanwise.config.parts import is_part
from spanwise.config.user_files import call_in_file, is_reference
from spanwise.errors import ConfigError
from spanwise.interop.head_files import check_own_names
from spanwise.interop.heads import KINDS, check_not_ours, check_storable
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.runtime.outline import outline
from spanwise.runtime.suggest import did_you_mean
from spanwise.tasks.base import Task
from spanwise.tasks.recipe import FinetuningRecipe, usual_recipe

TASKS = {
    "qa": "spanwise.tasks.qa.recipe:RECIPES",
    "classification": "spanwise.tasks.classification.recipe:RECIPES",
    "multiple-choice": "spanwise.tasks.multiple_choice.task:RECIPES",
    "relation": "spanwise.tasks.relation.recipe:RECIPES",
    "tagging": "spanwise.tasks.tagging.task:RECIPES",
    "coref": "spanwise.tasks.coref.recipe:RECIPES",
}


def recipes_of(name: str) -> Mapping[str, Callable[[], FinetuningRecipe]]:
    """Return the recipes of one of the package's tasks, the default one first.

    Raises: ConfigError for an unknown task, with the nearest name.
    """
    if name not in TASKS:
        raise ConfigError(
            f"there is no task {name!r}; tasks are {', '.join(TASKS)}, and one of your own is named as "
            f"my_task.py:my_task.{did_you_mean(name, TASKS)}"
        )
    module, _, attribute = TASKS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def task_recipe(name: str, recipe: str | None = None) -> FinetuningRecipe:
    """Return a recipe of the task `name` (the default one unless named), or that of `file.py:function`.

    Raises: ConfigError for an unknown task or recipe, with the nearest name, and for what a task of one's own lacks.
    """
    if is_reference(name):
        if recipe is not None:
            raise ConfigError(f"{name} names the recipe already; leave --recipe {recipe} out.")
        return _of_file(name)
    recipes = recipes_of(name)
    if recipe is None:
        recipe = next(iter(recipes))
    if recipe not in recipes:
        raise ConfigError(
            f"task {name!r} has no recipe {recipe!r}; it has {', '.join(recipes)}.{did_you_mean(recipe, recipes)}"
        )
    return recipes[recipe]()


def _of_file(reference: str) -> FinetuningRecipe:
    made = call_in_file(reference, "task")
    if isinstance(made, Task):
        _check(made, reference)
        return usual_recipe(made)
    if not isinstance(made, FinetuningRecipe):
        raise ConfigError(
            f"{reference} returned {type(made).__name__}; a task function returns a FinetuningRecipe, or a part that "
            "extends spanwise.tasks.base.Task."
        )
    _check(made.task, reference)
    return made


def _check(task: Task, reference: str) -> None:
    """Refuse a task that would fail after its files are read: without a name, a head, or a record."""
    name = type(task).__name__
    missing = [field for field in ("head_name", "target_name") if not isinstance(getattr(task, field, None), str)]
    if missing:
        raise ConfigError(f'{reference}: {name} has no {" and no ".join(missing)}; add {missing[0]} = "..." to it.')
    if "." in task.head_name:
        raise ConfigError(f"{reference}: the head name {task.head_name!r} has a dot, which parts names of tensors.")
    if task.head_name not in KINDS and type(task).build_head is Task.build_head:
        raise ConfigError(
            f"{reference}: {name} has no build_head, and there is no usual head {task.head_name!r}; define "
            f"build_head(config), or take one of {', '.join(kind.name for kind in KINDS.values() if kind.is_labelled)}."
        )
    if not is_part(task):
        raise ConfigError(f"{reference}: {name} is no dataclass; put @dataclass(frozen=True) before it.")
    try:
        to_record(task)
    except ConfigError as error:
        raise ConfigError(f"{reference}: {name} can't be recorded in a model folder: {error}") from error
    _check_head(task, reference)


def _check_head(task: Task, reference: str) -> None:
    """Refuse a head that no model folder can hold, before it is trained; it is built here in shapes alone.

    One that can't be built before the task knows its labels is looked at when it is saved.
    """
    check_own_names([task.head_name])
    with outline():
        encoder = Encoder(EncoderConfig(vocab_size=64, hidden_size=64, num_layers=1, num_heads=4, intermediate_size=8))
        try:
            head: object = task.build_head(encoder.config)
        except Exception:  # it may ask for labels, which the training data will say
            return
    what = f"{reference}: the head of {type(task).__name__}"
    if head is None and task.head_name in KINDS:
        return
    if not isinstance(head, nn.Module):
        raise ConfigError(f"{what} is {type(head).__name__}; build_head must return a torch.nn.Module.")
    check_storable(what, head)
    check_not_ours(task.head_name, dict(head.named_parameters()), encoder)
