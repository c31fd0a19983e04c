"""The settings of the paper."""

import pytest

from spanwise.tasks.registry import recipes_of, task_recipe


@pytest.mark.parametrize(
    ("name", "rate", "head_rate", "length", "segments"),
    [
        ("bert-base", 1e-5, 2e-4, 128, 11),
        ("bert-large", 1e-5, 2e-4, 384, 3),
        ("spanbert-base", 2e-5, 1e-4, 384, 3),
        ("spanbert-large", 1e-5, 3e-4, 512, 3),
    ],
)
def test_recipes_have_the_values_tuned_on_the_development_data(name, rate, head_rate, length, segments):
    recipe = task_recipe("coref", name)
    task, training = recipe.task, recipe.training
    assert (training.learning_rate, training.head_learning_rate) == (rate, head_rate)
    assert (task.max_segment_length, task.max_training_segments) == (length, segments)
    assert (task.max_width, task.spans_per_piece, task.max_spans, task.num_antecedents) == (30, 0.4, 3900, 50)
    assert (task.ffn_size, task.feature_size, task.dropout, task.depth) == (3000, 20, 0.3, 2)
    assert (recipe.batch_size, training.num_epochs, training.warmup_steps) == (1, 20, 0.1)


def test_the_default_leaves_size_rate_and_dropout_to_the_encoder():
    assert next(iter(recipes_of("coref"))) == "documents"
    usual, small, paper = (task_recipe("coref", name) for name in ("documents", "small", "spanbert-base"))
    assert (usual.task.depth, usual.task.ffn_size) == ("auto", "auto")
    for recipe in (usual, small):
        assert (recipe.training.learning_rate, recipe.hidden_dropout) == ("auto", "auto")
        assert (recipe.training.num_epochs, recipe.batch_size) == (20, 1)  # a document is a step
    assert paper.hidden_dropout is None
