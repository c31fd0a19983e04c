from dataclasses import asdict
from inspect import signature

import pytest

from spanwise.cli.main import main
from spanwise.cli.options.asking import AskingOptions
from spanwise.tasks.evaluate import evaluate, evaluate_each, predict


def test_every_option_is_one_of_the_functions_behind_the_commands_with_the_same_default():
    for function in (evaluate, evaluate_each, predict):
        known = {name: parameter.default for name, parameter in signature(function).parameters.items()}
        assert asdict(AskingOptions()).items() <= known.items()


@pytest.mark.parametrize("command", ["evaluate", "predict"])
def test_both_commands_show_them(command, capsys):
    main([command, "--help"])
    shown = capsys.readouterr().out
    assert all(option in shown for option in ("--tokenizer", "--device", "--precision", "--on-overflow", "int8"))
