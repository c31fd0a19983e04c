"""Heads of tasks: of the family's form, kept where they are the task's own, replaced where not."""

import dataclasses

import pytest
import torch

from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.huggingface import read_folder
from spanwise.nn.heads.token import TokenClassificationHead
from spanwise.tasks.checkpoint import save_task_model
from spanwise.tasks.classification.task import Classification
from spanwise.tasks.heads import begin_as_modernbert, misfit, new_head, with_pooler
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
def test_a_fresh_head_of_modernberts_shape_begins_as_in_its_classes(task):
    """ModernBERT has one name for the layer before the last product, so masked LM's is read into every head."""
    checkpoint = read_folder("spanwise-mini")
    head, drawn = (new_head(checkpoint, task, build_encoder(checkpoint), seed=0) for _ in range(2))
    last, before = ((one.linear if isinstance(task, QuestionAnswering) else one.out).weight for one in (head, drawn))
    layer = head if task is TASK else head.transform
    assert begin_as_modernbert(head, checkpoint)
    torch.testing.assert_close(last, before * 256**-0.5 / checkpoint.config.initializer_range)
    for name, parameter in [*layer.dense.named_parameters("dense"), *layer.norm.named_parameters("norm")]:
        assert torch.equal(parameter, checkpoint.heads["mlm"][name])


@pytest.mark.parametrize("loss", ["weights reset", "no masked LM", "another shape"])
def test_where_masked_lm_has_no_layer_to_give_the_drawn_one_stays(loss):
    checkpoint = read_folder("spanwise-mini")
    head, drawn = (new_head(checkpoint, LABELLED, build_encoder(checkpoint), seed=0) for _ in range(2))
    narrow = {name: tensor[..., :128] for name, tensor in checkpoint.heads["mlm"].items()}
    heads = {"weights reset": checkpoint.heads, "no masked LM": {}, "another shape": {"mlm": narrow}}[loss]
    assert not begin_as_modernbert(
        head, dataclasses.replace(checkpoint, heads=heads), is_learned=loss != "weights reset"
    )
    assert torch.equal(head.transform.dense.weight, drawn.transform.dense.weight)
    assert head.out.weight.std() > 2 * drawn.out.weight.std()


class Own(TokenClassificationHead):
    """A head of a user's."""


def test_heads_of_other_shapes_and_of_ones_own_stay_as_they_were_drawn(pretrained_folder):
    bert, modern = read_folder(pretrained_folder), read_folder("spanwise-mini")
    of_type = dataclasses.replace(modern, model_type="spanwise")  # pre-norm too, with another head for classes
    heads = [
        (bert, new_head(bert, LABELLED, build_encoder(bert), seed=0)),
        (of_type, new_head(of_type, TASK, build_encoder(of_type), seed=0)),
        (modern, Own(modern.config, 3)),
    ]
    for checkpoint, head in heads:
        before = {name: tensor.clone() for name, tensor in head.state_dict().items()}
        assert not begin_as_modernbert(head, checkpoint)
        assert all(torch.equal(tensor, before[name]) for name, tensor in head.state_dict().items())
