"""Options of the commands that train."""

import sys

import pytest

from spanwise.cli.options.run import RunOptions


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
