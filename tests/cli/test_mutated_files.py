"""Files that a user hands in, changed at random: each command succeeds or says one sentence, never a traceback.

tests/tasks/test_bad_input.py changes the files of every task likewise.
"""

import random
import shutil

import pytest
import yaml
from tests.mutations import mutated, mutated_json

from spanwise.cli.main import main
from spanwise.config.plain_yaml import load_plain
from spanwise.config.yaml_files import commented_yaml
from spanwise.recipes import catalogue
from spanwise.tasks.registry import task_recipe

PROMISED = {0, 2, 3, 4}
MUTATIONS = 6  # of each file; raise it to search


def ends_as_promised(command, what, capsys):
    status = main([str(word) for word in command])
    told = capsys.readouterr().err
    assert status in PROMISED, (status, told, what)
    assert status == 0 or told.startswith("spanwise: ") or "\nspanwise: " in told, (told, what)
    assert "Traceback" not in told, what


@pytest.mark.parametrize("name", ["config.json", "spanwise.json", "tokenizer.json", "tokenizer_config.json"])
def test_a_changed_file_of_a_model_folder(name, world, qa_run, tmp_path, capsys):
    chance, folder = random.Random(name), tmp_path / "model"
    text = (qa_run / "final" / name).read_text()
    shutil.copytree(qa_run / "final", folder)
    for _ in range(MUTATIONS):
        changed = mutated_json(text, chance)
        (folder / name).write_text(changed)
        ends_as_promised(["evaluate", "qa", "--model", folder, "--data", world.folder / "dev.json"], changed, capsys)


def test_a_changed_head_of_a_store(world, tmp_path, capsys):
    chance, folder = random.Random("store"), tmp_path / "store"
    shutil.copytree(world.folder / "store", folder)
    text = (folder / "store.json").read_text()
    for _ in range(MUTATIONS):
        changed = mutated_json(text, chance)
        (folder / "store.json").write_text(changed)
        ends_as_promised(["show", "store", folder], changed, capsys)


@pytest.mark.parametrize("recipe", ["spanbert-tiny", "electra-mini"])
def test_a_changed_recipe_file(recipe, tmp_path, capsys):
    chance, file = random.Random(recipe), tmp_path / "recipe.yaml"
    values = load_plain(commented_yaml(catalogue.find(recipe)))
    for _ in range(MUTATIONS):
        file.write_text(yaml.safe_dump(mutated(values, chance)))
        command = ["pretrain", recipe, "--data", tmp_path / "none", "--out", tmp_path / "run", "--config", file]
        ends_as_promised(command, file.read_text(), capsys)


@pytest.mark.parametrize("task", ["qa", "coref"])
def test_a_changed_task_recipe_file(task, tmp_path, capsys):
    chance, file = random.Random(task), tmp_path / "recipe.yaml"
    values = load_plain(commented_yaml(task_recipe(task)))
    for _ in range(MUTATIONS):
        file.write_text(yaml.safe_dump(mutated(values, chance)))
        command = ["finetune", task, "--model", tmp_path / "none", "--train", file, "--out", tmp_path / "run"]
        ends_as_promised([*command, "--config", file], file.read_text(), capsys)


def test_a_changed_file_of_questions(world, qa_run, tmp_path, capsys):
    chance, file = random.Random("questions"), tmp_path / "questions.json"
    text = (world.folder / "dev.json").read_text()
    for _ in range(MUTATIONS):
        file.write_text(mutated_json(text, chance))
        for command in (["evaluate", "--data"], ["predict", "--output", tmp_path / "answers.json", "--input"]):
            words = [command[0], "qa", "--model", qa_run / "final", *command[1:], file]
            ends_as_promised(words, file.read_text(), capsys)
