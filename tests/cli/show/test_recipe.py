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
    assert "64 pack(s) of at most 16,384 on a CPU; on a GPU as few as its memory holds" in printed
    assert "where they are computed again" in printed
    assert main(["show", "recipe", "spanbert-base", "--set", "batch.packs=5"]) == 0
    assert "1,048,576 real tokens in 5 pack(s), by batch.packs" in capsys.readouterr().out


def test_values_can_be_changed_before_looking(capsys):
    assert main(["show", "recipe", "spanbert-base", "--set", "encoder.num_layers=2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["recipe"]["encoder"]["num_layers"] == 2


def test_a_length_takes_the_place_of_the_recipes_own_and_a_step_is_told_as_whole_packs(capsys):
    changes = ["--set", "training.max_steps=7", "--set", "batch.tokens_per_step=1024"]
    assert main(["show", "recipe", "spanbert-mini", *changes, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["recipe"]["training"]["max_steps"] == 7
    size = found["packs_per_step"] * found["recipe"]["batch"]["max_tokens"]
    assert main(["show", "recipe", "spanbert-mini", *changes]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"up to {size:,} real tokens (not the 1,024 of batch.tokens_per_step: see batch.max_tokens)" in said


@pytest.mark.parametrize("given", [["--set", "encoder.num_layers=2"], ["--vocab-size", "9000"]])
def test_what_changes_one_recipe_is_refused_for_the_list_of_all(given, capsys):
    assert main(["show", "recipe", *given]) == 2
    assert given[0] in capsys.readouterr().err


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


def test_the_list_stands_by_family_with_a_line_for_each(capsys):
    assert main(["show", "recipe"]) == 0
    printed = capsys.readouterr().out.splitlines()
    heading, line = "BERT (Devlin et al. 2019)", next(row for row in printed if row.startswith("bert-base "))
    assert heading in printed and "12 x 768" in line and "1 M steps" in line
    assert printed.index(heading) < printed.index(line) < printed.index("RoBERTa (Liu et al. 2019)")


def test_a_generator_is_part_of_the_path_and_of_the_cost(capsys):
    assert main(["show", "recipe", "electra-mini"]) == 0
    printed = capsys.readouterr().out
    assert "Generator(size=0.25" in printed and "mlm: MaskedLM" in printed and "rtd: ReplacedToken" in printed
    assert main(["show", "recipe", "electra-mini", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert set(record["parameters"]["by_head"]) == {"rtd", "generator"}
    assert main(["show", "recipe", "electra-mini", "--json", "--set", "corruption.size=0.5"]) == 0
    larger = json.loads(capsys.readouterr().out)
    assert larger["flops_per_token"] > record["flops_per_token"]


def test_a_recipe_is_tried_on_a_store_for_a_budget(world, tiny, capsys):
    command = ["show", "recipe", "spanbert-tiny", *tiny, "--data", str(world.folder / "store"), "--budget", "2min"]
    assert main([*command, "--json"]) == 0

    record = json.loads(capsys.readouterr().out)
    here, run = record["here"], record["here"]["run"]
    assert here["tokens_per_second"] > 0 and here["peak_bytes"] > 0
    assert run["length"] == "budget=120" and run["steps"] >= 1 and run["seconds"] >= 120


def test_a_budget_beside_a_length_that_was_asked_for_is_refused(world, tiny, capsys):
    command = ["show", "recipe", "spanbert-tiny", *tiny, "--data", str(world.folder / "store"), "--budget", "2min"]
    assert main([*command, "--set", "training.max_steps=100"]) == 2
    assert "budget 120 s and training.max_steps=100 are two lengths" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "cure"), [(["--budget", "2min"], "--data"), (["--data", "x"], "name it")])
def test_half_a_trial_is_refused(arguments, cure, capsys):
    recipe = ["spanbert-tiny"] if "--budget" in arguments else []
    assert main(["show", "recipe", *recipe, *arguments]) == 2
    assert cure in capsys.readouterr().err


def test_no_store_is_tried_with_a_task(capsys):
    assert main(["show", "recipe", "qa", "--vocab-size", "100"]) == 2
    assert "qa is a task" in capsys.readouterr().err
