"""The paper's values."""

from spanwise.tasks.relation.recipe import RECIPES


def test_the_paper_has_its_values_and_files_without_types_show_the_text():
    usual, recipe = next(iter(RECIPES.values()))(), RECIPES["spanbert"]()
    assert (usual.training.learning_rate, usual.training.num_epochs, usual.hidden_dropout) == ("auto",) * 3
    assert (recipe.training.learning_rate, recipe.training.num_epochs, recipe.batch_size) == (2e-5, 10, 32)
    assert recipe.hidden_dropout is None and usual.task == recipe.task
    assert (recipe.task.markers, recipe.task.max_length) == ("ner", 128)
    assert RECIPES["semeval"]().task.markers == RECIPES["marked"]().task.markers == "text"
