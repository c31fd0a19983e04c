"""Changes to recipes, and the command that goes on."""

import pytest

from spanwise.cli.changes import read_changes, resume_command
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
