"""Heads of tasks: of the family's form, kept where they are the task's own, replaced where not."""

import dataclasses

import pytest

from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.huggingface import read_folder
from spanwise.tasks.checkpoint import save_task_model
from spanwise.tasks.classification.task import Classification
from spanwise.tasks.heads import misfit, new_head, with_pooler
from spanwise.tasks.model import TaskModel
from spanwise.tasks.qa.task import QuestionAnswering

TASK = Classification(kind="single_label", labels=("no", "yes"))


def test_a_pooler_is_asked_for_where_the_head_reads_one(pretrained_folder):
    checkpoint = read_folder(pretrained_folder)
    assert with_pooler(checkpoint.config, checkpoint, TASK).pooler
    assert not with_pooler(checkpoint.config, checkpoint, QuestionAnswering()).pooler
    electra = dataclasses.replace(checkpoint, model_type="electra")
    assert not with_pooler(checkpoint.config, electra, TASK).pooler


@pytest.fixture(scope="module")
def labelled_folder(pretrained_folder, tokenizer, tmp_path_factory):
    checkpoint = read_folder(pretrained_folder)
    encoder = build_encoder(checkpoint, with_pooler(checkpoint.config, checkpoint, TASK))
    model = TaskModel(TASK, encoder, new_head(checkpoint, TASK, encoder, seed=3))
    folder = tmp_path_factory.mktemp("labelled")
    save_task_model(folder, model, tokenizer, other_heads=checkpoint.heads)
    return folder


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (TASK, None),
        (dataclasses.replace(TASK, labels=("a", "b", "c")), "another shape"),
        (dataclasses.replace(TASK, labels=("bad", "good")), "other labels (no, yes)"),
    ],
)
def test_a_head_of_another_shape_or_of_other_labels_is_not_the_tasks_own(labelled_folder, task, words):
    checkpoint = read_folder(labelled_folder)
    assert checkpoint.labels == TASK.labels
    found = misfit(checkpoint, task, build_encoder(checkpoint))
    assert found is None if words is None else words in found


def test_a_head_of_another_kind_of_task_is_not_the_tasks_own(labelled_folder):
    checkpoint = read_folder(labelled_folder)
    checkpoint.record["task"]["part"] = "relation"
    assert "of the task 'relation'" in misfit(checkpoint, TASK, build_encoder(checkpoint))
