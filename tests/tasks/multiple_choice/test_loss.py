"""Softmax over each question's own choices."""

import numpy as np
import torch
import torch.nn.functional as F

from spanwise.tasks.multiple_choice.loss import ChoiceTargets, choice_loss
from spanwise.tasks.sequence_rows import ExampleBorders


def test_the_loss_is_the_cross_entropy_of_each_question_whatever_its_number_of_choices():
    scores = torch.tensor([0.3, 80.0, -1.0, 2.0, 1.0, 99.0], requires_grad=True)  # the last one is filler
    targets = ChoiceTargets(ExampleBorders.of(np.array([0, 3, 5])), torch.tensor([1, 4]))
    found = choice_loss(scores, targets)
    expected = F.cross_entropy(scores[None, :3], torch.tensor([1])) + F.cross_entropy(
        scores[None, 3:5], torch.tensor([1])
    )
    torch.testing.assert_close(found.sum, expected)
    assert found.num_correct == 1
    found.sum.backward()
    assert scores.grad[5] == 0 and scores.grad[3] > 0 > scores.grad[4]
