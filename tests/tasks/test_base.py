"""Tasks by name."""

import pytest

from spanwise.errors import ConfigError
from spanwise.tasks.base import Task, task_names, task_recipe


def test_every_named_task_has_a_recipe_that_answers_the_task_interface():
    for name in task_names():
        assert isinstance(task_recipe(name).task, Task)


def test_an_unknown_task_is_answered_with_the_names_there_are():
    with pytest.raises(ConfigError, match="no task 'q'; tasks are qa"):
        task_recipe("q")
