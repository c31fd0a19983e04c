"""The papers' values."""

import pytest

from spanwise.tasks.qa.recipe import RECIPES


def test_files_are_taught_by_the_encoders_size():
    assert next(iter(RECIPES)) == "squad"
    for name in ("squad", "mrqa", "korquad"):
        recipe = RECIPES[name]()
        assert (recipe.training.learning_rate, recipe.training.num_epochs, recipe.hidden_dropout) == ("auto",) * 3
        assert (recipe.training.warmup_steps, recipe.batch_size) == (0.1, 16)


def test_the_papers_recipe_is_the_papers():
    recipe = RECIPES["spanbert"]()
    training, task = recipe.training, recipe.task
    assert (training.learning_rate, training.num_epochs, training.warmup_steps) == (2e-5, 4, 0.1)
    assert (training.schedule, training.weight_decay, recipe.batch_size) == ("linear", 0.01, 32)
    assert (task.doc_stride, task.max_question_tokens, task.max_answer_tokens, task.num_best) == (128, 64, 30, 20)
    assert (task.gold, task.spans, task.answerability) == ("first", "independent", "null_score")


@pytest.mark.parametrize(
    ("name", "rate", "batch", "epochs", "decay", "spans", "answerability"),
    [
        ("spanbert", 2e-5, 32, 4, 1.0, "independent", "null_score"),
        ("roberta", 1.5e-5, 48, 2, 1.0, "independent", "classifier"),
        ("albert", 5e-5, 48, 2, 1.0, "independent", "null_score"),
        ("electra", 1e-4, 32, 2, 0.8, "joint", "classifier"),
        ("electra-large", 5e-5, 32, 2, 0.9, "joint", "classifier"),
    ],
)
def test_each_family_has_its_own_way(name, rate, batch, epochs, decay, spans, answerability):
    recipe = RECIPES[name]()
    training, task = recipe.training, recipe.task
    assert (training.learning_rate, recipe.batch_size, training.num_epochs, training.layer_decay) == (
        rate, batch, epochs, decay,
    )  # fmt: skip
    assert (task.spans, task.answerability, recipe.hidden_dropout) == (spans, answerability, None)


def test_splinters_values_are_those_of_its_code():
    all_of_it, few = RECIPES["splinter"](), RECIPES["splinter-few"]()
    assert (all_of_it.training.num_epochs, few.training.max_steps) == (2, 200)
    for recipe in (all_of_it, few):
        training, task = recipe.training, recipe.task
        assert (training.learning_rate, recipe.batch_size, training.warmup_steps) == (3e-5, 12, 0.1)
        assert (training.weight_decay, training.adam_epsilon, training.max_grad_norm) == (0.0, 1e-8, 1.0)
        assert (task.max_length, task.doc_stride, task.max_answer_tokens) == (384, 128, 10)
        assert (task.head, task.separators) == ("span_selection", "unseen")


def test_what_only_some_recipes_say():
    assert RECIPES["korquad"]().task.metric == "korquad"
    assert RECIPES["roberta"]().training.warmup_steps == 0.06
    assert RECIPES["albert"]().task.max_length == 384
    assert RECIPES["electra"]().task.answerable_weight == 0.5
