"""The files of data sets by name, and the papers' values."""

from spanwise.tasks.classification.recipe import RECIPES


def test_every_data_set_has_its_recipe_and_the_paper_its_values():
    assert next(iter(RECIPES)) == "texts"
    for name in ("texts", "cola", "mnli"):
        recipe = RECIPES[name]()
        assert (recipe.training.learning_rate, recipe.training.num_epochs, recipe.hidden_dropout) == ("auto",) * 3
        assert (recipe.task.dataset, recipe.batch_size) == (None if name == "texts" else name, 32)
    paper, cola = RECIPES["spanbert"](), RECIPES["spanbert-cola"]()
    assert (paper.training.num_epochs, cola.training.num_epochs, cola.task.dataset) == (10, 4, "cola")
    assert (paper.training.learning_rate, paper.hidden_dropout, paper.task.max_length) == (2e-5, None, 128)
    assert {recipe().task.main_score for recipe in RECIPES.values()} >= {"mcc", "accuracy", "accuracy_and_f1"}


def test_gpt_1_has_its_papers_values_for_any_data_set():
    recipe = RECIPES["gpt-1"]()
    training = recipe.training
    assert (training.learning_rate, training.warmup_steps, training.schedule) == (6.25e-5, 0.002, "linear")
    assert (training.num_epochs, recipe.batch_size, training.max_grad_norm, training.weight_decay) == (3, 32, 1, 0.01)
    assert (recipe.task.layout, recipe.task.lm_weight, recipe.task.max_length) == ("extract", 0.5, 512)
    assert RECIPES["texts"]().task.layout == "template" and RECIPES["texts"]().task.lm_weight == 0
