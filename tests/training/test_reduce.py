"""What packs share is added exactly."""

import torch

from spanwise.training.reduce import SingleProcess


def test_counts_of_all_packs_are_added_by_name():
    counts = SingleProcess().counts([{"mlm": 3, "sbo": 0}, {"mlm": 4}, {}])

    assert counts == {"mlm": 7, "sbo": 0}


def test_one_process_changes_neither_gradients_nor_sums():
    gradient = torch.tensor([1.0, 2.0])
    SingleProcess().gradients([gradient])

    assert gradient.tolist() == [1.0, 2.0]
    assert SingleProcess().sums(gradient) is gradient
