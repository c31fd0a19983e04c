"""The tasks by name: what `spanwise finetune NAME` looks up.

A task is one folder and one line here. The line names the folder's `RECIPES`: functions that return a fine-tuning
recipe, by name, the default one first. The part in a recipe's `task` answers `tasks.base.Task`; the commands ask it for
everything that differs from task to task (files, scores, tables), so none of them knows a task by name.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping

from spanwise.errors import ConfigError
from spanwise.runtime.suggest import did_you_mean
from spanwise.tasks.recipe import FinetuningRecipe

TASKS = {
    "qa": "spanwise.tasks.qa.recipe:RECIPES",
    "classification": "spanwise.tasks.classification.recipe:RECIPES",
    "multiple-choice": "spanwise.tasks.multiple_choice.recipe:RECIPES",
    "relation": "spanwise.tasks.relation.recipe:RECIPES",
    "tagging": "spanwise.tasks.tagging.recipe:RECIPES",
    "coref": "spanwise.tasks.coref.recipe:RECIPES",
}


def task_names() -> list[str]:
    """The names that the commands take."""
    return list(TASKS)


def recipes_of(name: str) -> Mapping[str, Callable[[], FinetuningRecipe]]:
    """The recipes of a task, the default one first.

    Raises: ConfigError for an unknown task, with the nearest name.
    """
    if name not in TASKS:
        raise ConfigError(f"there is no task {name!r}; tasks are {', '.join(TASKS)}.{did_you_mean(name, TASKS)}")
    module, _, attribute = TASKS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def task_recipe(name: str, recipe: str | None = None) -> FinetuningRecipe:
    """A recipe of the task `name`, the default one where none is named.

    Raises: ConfigError for an unknown task or recipe, with the nearest name.
    """
    recipes = recipes_of(name)
    if recipe is None:
        recipe = next(iter(recipes))
    if recipe not in recipes:
        raise ConfigError(
            f"task {name!r} has no recipe {recipe!r}; it has {', '.join(recipes)}.{did_you_mean(recipe, recipes)}"
        )
    return recipes[recipe]()
