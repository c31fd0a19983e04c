"""Cross-entropy at the units alone."""

import torch
import torch.nn.functional as F

from spanwise.tasks.tagging.loss import TagTargets, tag_loss


def test_tokens_that_are_no_unit_add_nothing():
    scores = torch.randn(6, 3, generator=torch.Generator().manual_seed(1), requires_grad=True)
    rows, gold = torch.tensor([4, 1]), torch.tensor([2, 0])
    found = tag_loss(scores, TagTargets(rows, (1, 1), gold))
    torch.testing.assert_close(found.sum, F.cross_entropy(scores[rows], gold, reduction="sum"))
    found.sum.backward()
    assert scores.grad[[0, 2, 3, 5]].abs().sum() == 0 and scores.grad[rows].abs().sum() > 0
    assert found.num_correct == (scores[rows].argmax(1) == gold).sum()


def test_no_unit_is_no_loss():
    scores = torch.randn(2, 3, requires_grad=True)
    empty = torch.zeros(0, dtype=torch.int64)
    found = tag_loss(scores, TagTargets(empty, (0,), empty))
    found.sum.backward()
    assert found.sum == 0 and scores.grad is not None
