"""Tasks and their recipes by name."""

import pytest

from spanwise.errors import ConfigError
from spanwise.tasks.base import Task
from spanwise.tasks.registry import TASKS, recipes_of, task_recipe


def test_every_recipe_of_every_named_task_answers_the_task_interface():
    for name in TASKS:
        for recipe in recipes_of(name):
            assert isinstance(task_recipe(name, recipe).task, Task), (name, recipe)


def test_the_default_recipe_is_the_first():
    for name in TASKS:
        assert task_recipe(name) == task_recipe(name, next(iter(recipes_of(name))))


def test_an_unknown_task_or_recipe_is_answered_with_the_names_there_are():
    with pytest.raises(ConfigError, match="no task 'q'; tasks are qa"):
        task_recipe("q")
    with pytest.raises(ConfigError, match=r"task 'qa' has no recipe 'squat'; it has squad.*'squad'"):
        task_recipe("qa", "squat")
