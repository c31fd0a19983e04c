"""`spanwise init`."""

import pytest

from spanwise.cli.main import main
from spanwise.config import override, overrides_from_yaml
from spanwise.recipes import find, names
from spanwise.tasks.registry import TASKS, task_recipe
from spanwise.training.plan import with_one_length


@pytest.mark.parametrize("name", names())
def test_the_file_it_writes_changes_nothing_until_it_is_edited(name, tmp_path, capsys):
    out = tmp_path / "recipe.yaml"
    assert main(["init", name, "--out", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    recipe = find(name)
    assert override(recipe, overrides_from_yaml(out.read_text())) == recipe


def test_an_edited_value_reaches_the_recipe(tmp_path, capsys):
    assert main(["init", "spanbert-tiny"]) == 0
    printed = capsys.readouterr().out
    assert "# " in printed  # values are explained
    edited = printed.replace("max_words: 10", "max_words: 5")
    assert override(find("spanbert-tiny"), overrides_from_yaml(edited)).masking.max_words == 5


@pytest.mark.parametrize("task", TASKS)
def test_a_task_has_a_file_too_that_says_what_follows_from_the_encoder(task, tmp_path, capsys):
    out = tmp_path / "task.yaml"
    assert main(["init", task, "--out", str(out)]) == 0
    assert f"spanwise finetune {task}" in capsys.readouterr().out
    text = out.read_text()
    assert 'learning_rate: "auto"  # the highest, after warm-up; auto (fine-tuning): by the encoder' in text
    assert override(task_recipe(task), with_one_length(overrides_from_yaml(text))) == task_recipe(task)


def test_a_file_that_exists_is_kept(tmp_path, capsys):
    out = tmp_path / "recipe.yaml"
    out.write_text("mine")
    assert main(["init", "spanbert-tiny", "--out", str(out)]) == 2
    assert out.read_text() == "mine"


def test_an_unknown_recipe_is_answered_with_the_nearest(capsys):
    assert main(["init", "spanbert-tinny"]) == 2
    assert "spanbert-tiny" in capsys.readouterr().err
