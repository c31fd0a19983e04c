"""Heads of tasks: of the family's form, kept where they are the task's own, replaced where not."""

import dataclasses

import pytest
import torch

from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.huggingface import read_folder
from spanwise.nn.heads.token import TokenClassificationHead
from spanwise.tasks.checkpoint import save_task_model
from spanwise.tasks.classification.task import Classification
from spanwise.tasks.heads import misfit, new_head, take_transform, with_pooler
from spanwise.tasks.model import TaskModel
from spanwise.tasks.qa.task import QuestionAnswering
from spanwise.tasks.tagging.task import Tagging

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


LABELLED = Tagging(labels=("O", "B-PER", "I-PER"))


@pytest.mark.parametrize("task", [LABELLED, TASK, QuestionAnswering()], ids=["tags", "classes", "answers"])
def test_on_a_pre_norm_encoder_a_fresh_head_begins_as_in_the_classes_of_hugging_face(task):
    """ModernBERT has one name for the layer before the last product, so masked LM's is read into every head."""
    checkpoint = read_folder("spanwise-mini")
    head = new_head(checkpoint, task, build_encoder(checkpoint), seed=0)
    last = head.linear if isinstance(task, QuestionAnswering) else head.out
    assert last.weight.std().item() == pytest.approx(256**-0.5, rel=0.1)  # 512 numbers or more
    layer = head if task is TASK else head.transform
    assert not torch.equal(layer.dense.weight, checkpoint.heads["mlm"]["dense.weight"])
    assert take_transform(head, checkpoint)
    for name, parameter in [*layer.dense.named_parameters("dense"), *layer.norm.named_parameters("norm")]:
        assert torch.equal(parameter, checkpoint.heads["mlm"][name])


def test_an_encoder_of_berts_shape_has_no_such_layer_and_keeps_berts_deviation(pretrained_folder):
    checkpoint = read_folder(pretrained_folder)
    head = new_head(checkpoint, LABELLED, build_encoder(checkpoint), seed=0)
    before = head.out.weight.clone()
    assert not take_transform(head, checkpoint) and torch.equal(head.out.weight, before)
    assert before.std().item() == pytest.approx(checkpoint.config.initializer_range, rel=0.3)


def test_masked_lm_of_another_shape_is_left_where_it_is():
    checkpoint = read_folder("spanwise-mini")
    head = new_head(checkpoint, LABELLED, build_encoder(checkpoint), seed=0)
    narrow = {name: tensor[..., :128] for name, tensor in checkpoint.heads["mlm"].items()}
    assert not take_transform(head, dataclasses.replace(checkpoint, heads={"mlm": narrow}))
    assert not take_transform(head, dataclasses.replace(checkpoint, heads={}))


def test_a_head_of_ones_own_is_left_as_it_was_drawn():
    class Own(TokenClassificationHead):
        pass

    checkpoint = read_folder("spanwise-mini")
    head = Own(checkpoint.config, 3)
    before = head.transform.dense.weight.clone()
    assert not take_transform(head, checkpoint) and torch.equal(head.transform.dense.weight, before)
