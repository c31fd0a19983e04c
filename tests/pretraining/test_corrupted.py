import torch

from spanwise.data.batch import to_device
from spanwise.pretraining.corrupted import Corrupted, Draws


def test_draws_move_with_the_batch():
    moved = to_device(Draws(uniform=torch.rand(3)), "meta")
    assert moved.uniform.device.type == "meta"


def test_a_pack_that_nothing_was_put_into_has_no_original_beside_it():
    assert Corrupted(input_ids=torch.arange(3)).original_ids is None
