"""Losses equal to torch's own, summed over examples."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from spanwise.tasks.classification.loss import ClassTargets, class_loss
from spanwise.tasks.sequence_rows import ExampleBorders

SCORES = torch.tensor([[0.2, 1.0, -1.0], [2.0, 0.0, 0.5], [0.0, 0.3, 0.1]])
BORDERS = ExampleBorders.of(np.array([0, 2, 3]))
MEAN = torch.tensor([[1.1, 0.5, -0.25], [0.0, 0.3, 0.1]])


@pytest.mark.parametrize(
    ("kind", "gold", "expected"),
    [
        ("single_label", torch.tensor([0, 2]), F.cross_entropy(MEAN, torch.tensor([0, 2]), reduction="sum")),
        ("regression", torch.tensor([1.0, 2.0]), ((MEAN[:, 0] - torch.tensor([1.0, 2.0])) ** 2).sum()),
        (
            "multi_label",
            torch.tensor([[1.0, 0, 1], [0, 0, 0]]),
            2 * F.binary_cross_entropy_with_logits(MEAN, torch.tensor([[1.0, 0, 1], [0, 0, 0]])),
        ),
    ],
)
def test_the_loss_is_the_sum_over_examples_of_their_windows_mean_scores(kind, gold, expected):
    scores = SCORES.clone().requires_grad_()
    found = class_loss(scores, ClassTargets(BORDERS, gold), kind)
    torch.testing.assert_close(found.sum, expected)
    found.sum.backward()
    assert scores.grad.abs().sum() > 0
    assert (found.num_correct is not None) == (kind == "single_label")


def test_right_guesses_are_counted():
    assert class_loss(SCORES, ClassTargets(BORDERS, torch.tensor([0, 2])), "single_label").num_correct == 1


def test_of_both_orders_the_sum_of_the_two_rows_is_scored():
    from spanwise.nn.config import EncoderConfig
    from spanwise.nn.heads.sequence import SequenceHead
    from spanwise.nn.sequences import Sequences
    from spanwise.tasks.classification.loss import window_scores

    shape = {"vocab_size": 9, "hidden_size": 4, "num_layers": 1, "num_heads": 1, "intermediate_size": 4}
    head = SequenceHead(EncoderConfig(**shape), 2, "last_biased").eval()
    hidden = torch.randn(9, 4)
    sequences = Sequences.from_lengths([2, 1, 3, 2, 1])  # the last one is filler
    examples = ExampleBorders.of(np.array([0, 1, 2]))
    found = window_scores(head, hidden, sequences, ClassTargets(examples, None, num_orders=2))
    expected = head.out(torch.stack([hidden[1] + hidden[2], hidden[5] + hidden[7]]))  # the bias comes once
    torch.testing.assert_close(found, expected)
