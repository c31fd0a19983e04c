"""A task's model: the loss of the loop, and outputs that depend on the example alone."""

import numpy as np
import pytest
import torch

from spanwise.errors import ConfigError
from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.huggingface import read_folder
from spanwise.nn.init import initialize
from spanwise.tasks.batches import Packing
from spanwise.tasks.model import TaskModel
from spanwise.tasks.qa.features import TARGET
from spanwise.tasks.qa.task import QuestionAnswering


@pytest.fixture(scope="module")
def model(pretrained_folder):
    checkpoint = read_folder(pretrained_folder)
    task = QuestionAnswering(doc_stride=40)
    head = task.build_head(checkpoint.config)
    initialize(head, checkpoint.config, seed=0)
    return TaskModel(task, build_encoder(checkpoint), head)


@pytest.fixture(scope="module")
def windows(model, squad20, tokenizer):
    return model.task.featurize(squad20, tokenizer, model.encoder.config, training=False)


def test_losses_of_packs_add_up_to_the_loss_of_one_pack(model, windows):
    rows = np.arange(len(windows))
    with torch.no_grad():
        whole = model.eval()(windows.assemble(rows))[TARGET].sum
        parts = sum(model(windows.assemble(rows[k : k + 1]))[TARGET].sum for k in rows)
    torch.testing.assert_close(whole, parts)
    assert model.loss_weights == {TARGET: 1.0}


def test_a_fresh_head_costs_about_the_logarithm_of_the_window(model, windows):
    with torch.no_grad():
        mean = model.eval()(windows.assemble(np.arange(len(windows))))[TARGET].sum / len(windows)
    assert float(mean) == pytest.approx(np.log(windows.lengths_W).mean(), abs=0.1)


@pytest.mark.parametrize("threads", [1, 2])
def test_outputs_of_an_example_are_the_same_bits_in_any_pack(model, windows, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        packed = {size: model.outputs(windows, packing=Packing(size)) for size in (1, 150, 100_000)}
    finally:
        torch.set_num_threads(before)
    for size in (150, 100_000):
        assert all(np.array_equal(a, b) for a, b in zip(packed[1], packed[size], strict=True))


def test_prediction_runs_without_dropout_and_gives_the_mode_back(model, windows):
    for mode in (True, False):
        model.train(mode)
        first, second = model.outputs(windows), model.outputs(windows)
        assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
        assert model.training is mode
    assert [len(rows) for rows in first] == windows.lengths_W.tolist()


def test_a_task_whose_examples_may_be_longer_than_a_pack_asks_for_their_packs_itself(model, windows):
    class Longest(QuestionAnswering):
        def outputs(self, encode, head, features, packing):
            for row in range(len(features)):
                hidden = encode(features.assemble(np.array([row])))
                yield row, packing.tokens, hidden.shape[0], head.training

    found = TaskModel(Longest(), model.encoder, model.head).train().outputs(windows, packing=Packing(99))
    assert found == [(row, 99, length, False) for row, length in enumerate(windows.lengths_W)]


def test_a_loss_that_is_no_mapping_is_named(model, windows, monkeypatch):
    monkeypatch.setattr(QuestionAnswering, "loss", lambda self, head, hidden, batch: hidden.sum())
    with pytest.raises(ConfigError, match=r"QuestionAnswering.loss returned Tensor; expected \{target_name: LossSum\}"):
        model(windows.assemble(np.arange(1)))
