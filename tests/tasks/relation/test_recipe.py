"""The paper's values."""

from spanwise.tasks.relation.recipe import RECIPES


def test_tacred_has_the_papers_values_and_files_without_types_show_the_text():
    recipe = next(iter(RECIPES.values()))()
    assert (recipe.training.learning_rate, recipe.training.num_epochs, recipe.batch_size) == (2e-5, 10, 32)
    assert (recipe.task.markers, recipe.task.max_length) == ("ner", 128)
    assert RECIPES["semeval"]().task.markers == RECIPES["marked"]().task.markers == "text"
