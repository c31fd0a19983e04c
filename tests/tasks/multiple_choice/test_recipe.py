"""The values of the papers."""

from spanwise.tasks.multiple_choice.recipe import RECIPES


def test_short_contexts_have_berts_values_and_passages_robertas():
    swag, race = (RECIPES[name]() for name in ("swag", "race"))
    assert (swag.training.learning_rate, swag.training.num_epochs, swag.batch_size) == (2e-5, 3, 16)
    assert (race.training.learning_rate, race.training.num_epochs, race.training.weight_decay) == (1e-5, 4, 0.1)
    assert (swag.task.max_length, race.task.max_length, race.task.max_question_tokens) == (128, 512, 128)


def test_gpt_1_has_its_own_values():
    recipe = RECIPES["gpt-1"]()
    assert (recipe.training.learning_rate, recipe.training.num_epochs, recipe.batch_size) == (6.25e-5, 3, 32)
    assert (recipe.task.layout, recipe.task.lm_weight, recipe.task.max_length) == ("extract", 0.5, 512)
