"""The paper's values, by data set."""

from spanwise.tasks.classification.recipe import RECIPES


def test_every_data_set_has_its_recipe_with_the_papers_values():
    assert next(iter(RECIPES)) == "texts"
    recipe = RECIPES["cola"]()
    assert (recipe.task.dataset, recipe.training.num_epochs, recipe.batch_size) == ("cola", 4, 32)
    assert RECIPES["mnli"]().training.num_epochs == RECIPES["texts"]().training.num_epochs == 10
    assert recipe.training.learning_rate == 2e-5 and recipe.task.max_length == 128
    assert {recipe().task.main_score for recipe in RECIPES.values()} >= {"mcc", "accuracy", "accuracy_and_f1"}
