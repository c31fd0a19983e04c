"""`spanwise show recipe`."""

import json
import subprocess
import sys

import pytest

from spanwise.cli.main import main
from spanwise.recipes import names


def test_all_recipes_are_listed(capsys):
    assert main(["show", "recipe"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in names())


@pytest.mark.parametrize("name", names())
def test_a_recipe_tells_its_size_and_cost(name, capsys):
    assert main(["show", "recipe", name, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["name"] == name
    parameters = record["parameters"]
    assert parameters["total"] == parameters["encoder"] + parameters["heads"] > 0
    assert record["flops_per_token"] > 6 * 2 * 128 * 128


def test_a_person_reads_the_data_path_and_the_differences_from_the_paper(capsys):
    assert main(["show", "recipe", "spanbert-base"]) == 0
    printed = capsys.readouterr().out
    assert "GeometricSpans" in printed and "SpanBoundary" in printed and "Differs from the paper" in printed


def test_values_can_be_changed_before_looking(capsys):
    assert main(["show", "recipe", "spanbert-base", "--set", "encoder.num_layers=2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["recipe"]["encoder"]["num_layers"] == 2


def test_wrong_names_are_answered_with_the_nearest(capsys):
    assert main(["show", "recipe", "spanbert-bass"]) == 2
    assert "spanbert-base" in capsys.readouterr().err
    assert main(["show", "recipe", "spanbert-base", "--set", "masking.max_wrds=3"]) == 2
    assert "max_words" in capsys.readouterr().err


def test_the_first_line_alone_may_be_read():
    command = f"{sys.executable} -m spanwise show recipe spanbert-base --json | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stdout == "{\n"
    assert done.stderr == ""
