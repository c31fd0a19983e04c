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


OWN = """
from dataclasses import dataclass
from typing import ClassVar

from examples.my_task import CountHead, NameCount
from torch import nn, ones

class Head(CountHead):
    def __init__(self, size):
        super().__init__(size)
        {extra}

@dataclass(frozen=True)
class Mine(NameCount):
    head_name: ClassVar[str] = {name!r}
    def build_head(self, config):
        {made}

def mine():
    return Mine()
"""
HEAD = "return Head(config.hidden_size)"


@pytest.mark.parametrize(
    ("name", "extra", "made", "message"),
    [
        ("qa", "pass", HEAD, "the head 'qa' has the tensors rate.bias, rate.weight, but .* question answering head"),
        ("pooler", "pass", HEAD, "a head can't be called 'pooler'"),
        ("mine", "self.register_buffer('seen', ones(2))", HEAD, "the head of Mine keeps seen beside its parameters"),
        ("mine", "self.more = nn.LazyLinear(3)", HEAD, "the head of Mine has parameters without a shape"),
        ("mine", "pass", "return None", "the head of Mine is NoneType; build_head must return a torch.nn.Module"),
        ("mine", "pass", "return print", "the head of Mine is builtin_function_or_method"),
    ],
)
def test_a_head_that_no_folder_can_hold_is_refused_before_it_is_trained(tmp_path, name, extra, made, message):
    (tmp_path / "own.py").write_text(OWN.format(name=name, extra=extra, made=made))
    with pytest.raises(ConfigError, match=message):
        task_recipe(f"{tmp_path / 'own.py'}:mine")


@pytest.mark.parametrize("made", [HEAD, "return Head(len(self.names) * config.hidden_size)"])
def test_a_head_that_can_be_built_and_one_that_asks_for_more_are_let_through(tmp_path, made):
    (tmp_path / "own.py").write_text(OWN.format(name="mine", extra="pass", made=made))
    assert task_recipe(f"{tmp_path / 'own.py'}:mine").task.head_name == "mine"
