"""Evaluation is constant, weighs by targets, and leaves training as it was."""

import math

import pytest
import torch
from toy import ToyModel, ToySource, make_batch

from spanwise.training.evaluate import evaluate_batches

CPU = torch.device("cpu")


def test_means_are_over_all_targets_and_not_over_batches():
    model, source = ToyModel(), ToySource()
    batches = [source.pack(step, 0) for step in range(3)]

    found = evaluate_batches(model, batches, device=CPU)

    model.eval()
    with torch.no_grad():
        losses = [model(batch)["next"] for batch in batches]
    count = sum(batch.counts["next"] for batch in batches)
    assert found["next_loss"] == pytest.approx(sum(float(loss.sum) for loss in losses) / count, rel=1e-6)
    assert found["next_accuracy"] == sum(int(loss.num_correct) for loss in losses) / count
    assert found["next_perplexity"] == pytest.approx(math.exp(found["next_loss"]))
    assert found["loss"] == pytest.approx(found["next_loss"] + 0.5 * found["same_loss"])


def test_asking_twice_gives_the_same_and_moves_no_random_number():
    model, batches = ToyModel(), [ToySource().pack(0, 0)]
    model.train()
    torch.manual_seed(3)
    state = torch.get_rng_state()

    assert evaluate_batches(model, batches, device=CPU) == evaluate_batches(model, batches, device=CPU)
    assert model.training and torch.equal(torch.get_rng_state(), state)


def test_names_without_a_target_are_left_out():
    batch = make_batch(torch.arange(10), {"next": 4, "same": 0})

    found = evaluate_batches(ToyModel(), [batch], device=CPU)

    assert "same_loss" not in found and found["loss"] == found["next_loss"]
    assert evaluate_batches(ToyModel(), [], device=CPU) == {}


class _PlainModel(torch.nn.Module):
    def forward(self, batch):
        return {"next": batch.input_ids.float().square().sum()}  # as a regression of a user's own gives it


def test_a_loss_that_does_not_say_it_is_a_log_likelihood_has_no_perplexity():
    found = evaluate_batches(_PlainModel(), [make_batch(torch.arange(3), {"next": 1})], device=CPU)
    assert found == {"loss": 5.0, "next_loss": 5.0}


class _Counted:
    """A loss that counts how many tokens of a batch are even and how many odd."""

    def __init__(self, ids):
        self.sum = ids.float().sum()
        self.tallies = torch.bincount(ids % 2, minlength=2)

    @staticmethod
    def measures(tallies):
        return {"odd_share": tallies[1] / tallies.sum()}


class _CountingModel(torch.nn.Module):
    def forward(self, batch):
        return {"next": _Counted(batch.input_ids)}


def test_tallies_are_added_up_before_anything_is_divided():
    batches = [make_batch(torch.tensor(ids), {"next": 1}) for ids in ([1, 1, 1, 1, 1, 1], [2, 2])]
    found = evaluate_batches(_CountingModel(), batches, device=CPU)
    assert found["next_odd_share"] == 0.75  # and not the mean of 1 and 0
