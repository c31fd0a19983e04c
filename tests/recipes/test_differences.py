"""Where a recipe leaves its paper it says so in whole sentences."""

import pytest

from spanwise import recipes
from spanwise.recipes.differences import ATTENTION_DROPOUT, POSITIONS


@pytest.mark.parametrize("name", recipes.names())
def test_differences_are_sentences(name):
    differences = recipes.find(name).differences
    assert differences
    begins = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    assert all(line.startswith((*begins, "encoder.")) and line.endswith(".") for line in differences)


@pytest.mark.parametrize("name", recipes.names())
def test_a_sentence_about_a_value_is_true_of_the_recipe(name):
    recipe = recipes.find(name)
    assert (ATTENTION_DROPOUT in recipe.differences) == (recipe.encoder.attention_dropout == 0.0)
    rows = [objective.num_positions for objective in recipe.trained_objectives.values() if objective.name == "sbo"]
    if name.startswith("spanbert"):
        assert (POSITIONS in recipe.differences) == (rows == [30])
