"""What the pipelines of all fine-tuned tasks share."""

import dataclasses

import pytest

import spanwise
from spanwise.errors import CheckpointError
from spanwise.pipelines.base import TaskPipeline
from spanwise.pipelines.given import OptionError
from spanwise.pipelines.multiple_choice import MultipleChoicePipeline
from spanwise.pipelines.relation_extraction import RelationExtractionPipeline
from spanwise.pipelines.text_classification import TextClassificationPipeline
from spanwise.pipelines.token_classification import TokenClassificationPipeline
from spanwise.tasks.registry import task_recipe
from spanwise.tasks.run import finetune

PIPELINES = [
    TextClassificationPipeline, TokenClassificationPipeline, RelationExtractionPipeline, MultipleChoicePipeline,
]  # fmt: skip


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_each_word_for_long_texts_is_one_that_the_task_takes(pipeline):
    task = task_recipe(pipeline.task_name).task
    assert issubclass(pipeline, TaskPipeline) and task.on_overflow in pipeline.overflow_choices
    for word in pipeline.overflow_choices:
        assert dataclasses.replace(task, on_overflow=word).on_overflow == word


def test_the_model_is_opened_with_its_task_and_a_word_for_long_texts(pipeline_start, tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("text\tlabel\nThe Han\tx\nkm km\ty\n")
    changes = ["training.max_steps=1", "training.precision=fp32"]
    model = finetune("classification", model=pipeline_start, train=path, out=tmp_path / "run", overrides=changes).final
    classify = TextClassificationPipeline(model, on_overflow="windows", device=-1)
    assert classify.task.on_overflow == "windows" and classify.task.labels == ("x", "y")
    with pytest.raises(OptionError, match="'cut' is not here; it is one of truncate, windows, error"):
        TextClassificationPipeline(model, on_overflow="cut")
    with pytest.raises(CheckpointError, match="has no head for 'tagging'"):
        spanwise.pipeline("token-classification", model=model)
