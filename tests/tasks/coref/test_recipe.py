"""The settings of the paper."""

import pytest

from spanwise.tasks.checkpoint import read_for_task, stored_task
from spanwise.tasks.coref.task import Coreference
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


def test_the_default_has_a_small_head_taught_by_the_encoders_size():
    assert next(iter(recipes_of("coref"))) == "small"
    small, documents, paper = (task_recipe("coref", name) for name in ("small", "documents", "spanbert-base"))
    assert (small.task.depth, small.task.ffn_size) == (1, 256)
    assert (documents.task.depth, documents.task.ffn_size) == (paper.task.depth, paper.task.ffn_size)
    for recipe in (small, documents):
        assert (recipe.training.learning_rate, recipe.hidden_dropout) == ("auto", "auto")
        assert (recipe.training.num_epochs, recipe.batch_size) == (20, 1)  # a document is a step
    assert paper.hidden_dropout is None


def test_the_default_goes_on_from_the_head_that_ships():
    """`finetune coref --model spanwise-mini` replaces a head of another shape by a new one."""
    shipped, unasked = stored_task(read_for_task("spanwise-mini", "coref"), Coreference()), task_recipe("coref").task
    for name in ("depth", "ffn_size", "feature_size", "max_width", "max_training_segments"):
        assert getattr(shipped, name) == getattr(unasked, name), name
