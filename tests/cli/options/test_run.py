"""Options of the commands that train."""

import sys

import pytest

from spanwise.cli.options.run import RunOptions, read_changes, resume_command
from spanwise.errors import ConfigError


def test_what_is_set_on_the_command_line_comes_after_the_file(tmp_path):
    file = tmp_path / "recipe.yaml"
    file.write_text("masking:\n  p: 0.4\ntraining:\n  seed: 3\n")
    assert read_changes(file, ["masking.p=0.1"]) == ["masking.p=0.4", "training.seed=3", "masking.p=0.1"]
    assert read_changes(None, None) == []


@pytest.mark.parametrize("content", [None, "- a list\n", "a: [1, {b: 2}]\n\tc: d"])
def test_a_file_that_holds_no_values_is_named(content, tmp_path):
    file = tmp_path / "recipe.yaml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match=r"recipe\.yaml"):
        read_changes(file, [])


def test_the_command_that_goes_on_is_the_same_with_resume():
    assert resume_command(["pretrain", "r", "--out", "my run"]).endswith("spanwise pretrain r --out 'my run' --resume")
    assert resume_command(["pretrain", "r", "--resume"]).endswith("spanwise pretrain r --resume")


def test_the_options_become_the_arguments_of_a_function_that_trains(tmp_path, monkeypatch):
    (tmp_path / "changes.yaml").write_text("training:\n  learning_rate: 0.5\n")
    monkeypatch.setattr(sys, "argv", ["spanwise", "pretrain", "x"])
    options = RunOptions(
        resume=True, allow_edited=True, config=tmp_path / "changes.yaml", overrides=["a=1"], save_every=3, keep=4
    )
    given = options.training(tmp_path / "run")
    assert given["overrides"] == ["training.learning_rate=0.5", "training.save_every=3", "training.keep=4", "a=1"]
    assert given["resume"] and given["allow_edited"] and given["device"] is None
    assert given["resume_command"].endswith("pretrain x --resume")


@pytest.mark.parametrize("json", [False, True])
def test_progress_goes_where_the_result_does_not(tmp_path, capsys, json):
    with RunOptions(json=json).log(tmp_path) as log:
        log.say("step 1")
    told = capsys.readouterr()
    assert (told.err if json else told.out) == "step 1\n" and not (told.out if json else told.err)
