"""The paper's values, by data set."""

from spanwise.tasks.classification.recipe import RECIPES


def test_every_data_set_has_its_recipe_with_the_papers_values():
    assert next(iter(RECIPES)) == "texts"
    recipe = RECIPES["cola"]()
    assert (recipe.task.dataset, recipe.training.num_epochs, recipe.batch_size) == ("cola", 4, 32)
    assert RECIPES["mnli"]().training.num_epochs == RECIPES["texts"]().training.num_epochs == 10
    assert recipe.training.learning_rate == 2e-5 and recipe.task.max_length == 128
    assert {recipe().task.main_score for recipe in RECIPES.values()} >= {"mcc", "accuracy", "accuracy_and_f1"}


def test_gpt_1_has_its_papers_values_for_any_data_set():
    recipe = RECIPES["gpt-1"]()
    training = recipe.training
    assert (training.learning_rate, training.warmup_steps, training.schedule) == (6.25e-5, 0.002, "linear")
    assert (training.num_epochs, recipe.batch_size, training.max_grad_norm, training.weight_decay) == (3, 32, 1, 0.01)
    assert (recipe.task.layout, recipe.task.lm_weight, recipe.task.max_length) == ("extract", 0.5, 512)
    assert RECIPES["texts"]().task.layout == "template" and RECIPES["texts"]().task.lm_weight == 0
