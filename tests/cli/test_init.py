"""`spanwise init`."""

import pytest

from spanwise.cli.main import main
from spanwise.config import override, overrides_from_yaml
from spanwise.recipes import find, names


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


def test_a_file_that_exists_is_kept(tmp_path, capsys):
    out = tmp_path / "recipe.yaml"
    out.write_text("mine")
    assert main(["init", "spanbert-tiny", "--out", str(out)]) == 2
    assert out.read_text() == "mine"


def test_an_unknown_recipe_is_answered_with_the_nearest(capsys):
    assert main(["init", "spanbert-tinny"]) == 2
    assert "spanbert-tiny" in capsys.readouterr().err
