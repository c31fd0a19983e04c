"""BERT's values."""

from spanwise.tasks.tagging.recipe import RECIPES


def test_the_recipe_has_values_of_the_papers_grid():
    recipe = RECIPES["tags"]()
    assert (recipe.training.learning_rate, recipe.training.num_epochs, recipe.batch_size) == (3e-5, 3, 32)
    assert recipe.task.head_name == "tagging" and recipe.task.main_score == "f1"
