"""Fine-tuning recipes are plain values."""

import pytest

from spanwise.config import from_record, override, to_record
from spanwise.errors import ConfigError
from spanwise.tasks.qa.recipe import question_answering
from spanwise.tasks.qa.task import QuestionAnswering
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.training.plan import TrainingOptions


def test_a_recipe_survives_its_record():
    recipe = override(question_answering(), ["task.null_threshold=-1.5", "training.learning_rate=3e-5"])
    assert (recipe.task.null_threshold, recipe.training.learning_rate) == (-1.5, 3e-5)
    assert from_record(to_record(recipe), [FinetuningRecipe, QuestionAnswering, TrainingOptions]) == recipe


@pytest.mark.parametrize(
    "values", [{"batch_size": 0}, {"pack_tokens": 1}, {"hidden_dropout": 1.0}, {"hidden_dropout": "often"}]
)
def test_impossible_values_are_refused(values):
    with pytest.raises(ConfigError):
        FinetuningRecipe(task=QuestionAnswering(), training=TrainingOptions(num_epochs=1), **values)
