import torch

from spanwise.nn.losses.loss_sum import LossSum


def test_losses_of_several_parts_are_added_and_weighed():
    parts = [LossSum(torch.tensor(1.5), torch.tensor(2)), LossSum(torch.tensor(0.5), torch.tensor(1))]
    total = LossSum.total(parts, 3.0)
    assert total.sum == 6.0 and total.num_correct == 3
    assert LossSum.total([LossSum(torch.tensor(1.0))]).num_correct is None
