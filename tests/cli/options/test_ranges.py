"""Every number that a command takes has a range; what lies outside is refused by the name of the option."""

import dataclasses
import importlib
from typing import get_args, get_type_hints

import pytest
from cyclopts import Parameter

from spanwise.cli.main import COMMANDS, PLACES, SHOW, main
from spanwise.cli.options.budget import parse_budget
from spanwise.cli.options.ranges import between
from spanwise.errors import ConfigError

OUTSIDE = ("0", "-1", "99999999999999999999999", "nan", "1e400", "x", "9" * 5000)


def functions():
    """Each command's function by its words."""
    for name in COMMANDS:
        function = name.replace("-", "_")
        yield name, getattr(importlib.import_module(f"spanwise.cli.{PLACES.get(name, function)}"), function)
    for name in SHOW:
        yield f"show {name}", getattr(importlib.import_module(f"spanwise.cli.show.{name}"), f"show_{name}")


def numbers_of(hints):
    """The name of each number, and whether it has a check; groups of options are looked into."""
    for name, hint in hints.items():
        if name == "return":
            continue
        inner, *notes = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
        if dataclasses.is_dataclass(inner):
            yield from numbers_of(get_type_hints(inner, include_extras=True))
        elif {int, float} & {inner, *get_args(inner)}:
            yield name, any(isinstance(note, Parameter) and note.validator for note in notes)


FOUND = [
    (words, *found) for words, run in functions() for found in numbers_of(get_type_hints(run, include_extras=True))
]


def test_every_number_of_every_command_has_a_check():
    assert len(FOUND) > 15
    assert [(words, name) for words, name, has_check in FOUND if not has_check] == []


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["pretrain", "spanbert-tiny", "--data", "x", "--out", "y"], "--processes"),
        (["pretrain", "spanbert-tiny", "--data", "x", "--out", "y"], "--keep"),
        (["learn-tokenizer", "x", "--out", "y"], "--vocab-size"),
        (["finetune", "qa", "--model", "x", "--train", "y", "--out", "z"], "--seeds"),
        (["prepare", "x", "--tokenizer", "y", "--out", "z"], "--processes"),
        (["study", "x", "--data", "y", "--out", "z"], "--jobs"),
        (["bench"], "--minutes"),
        (["show", "masks", "--text", "x"], "--times"),
        (["show", "store", "x"], "--examples"),
    ],
)
def test_what_lies_outside_is_refused_by_name(command, option, capsys):
    for text in OUTSIDE:
        assert main([*command, f"{option}={text}"]) == 2
        told = capsys.readouterr().err
        assert option in told and "Traceback" not in told, (text, told)


def test_an_option_that_is_not_given_is_not_checked_and_nan_lies_nowhere():
    check = between(1, 5)
    check(int, None)
    check(int, 5)
    for value in (0, 6, float("nan")):
        with pytest.raises(ValueError, match="from 1 to 5"):
            check(float, value)


@pytest.mark.parametrize("words", ["9" * 400 + "h", "1e9h", "-1s", "nan", "0s"])
def test_a_budget_without_end_is_refused(words):
    with pytest.raises(ConfigError, match="--budget"):
        parse_budget(words)
