"""The packed batch moves as one, and counts what is real."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from spanwise.data.batch import Batch, to_device
from spanwise.nn.sequences import Sequences


@dataclass(frozen=True)
class Wanted:
    positions: Tensor
    label: str = "kept"


def batch_of(num_padding: int = 0) -> Batch:
    return Batch(
        input_ids=torch.arange(7),
        token_type_ids=torch.zeros(7, dtype=torch.int64),
        sequences=Sequences.from_lengths([3, 4]),
        targets={"mlm": Wanted(positions=torch.tensor([1, 5]))},
        counts={"mlm": 2},
        num_padding=num_padding,
        ids=(8, 9),
    )


def test_filler_is_no_token():
    assert batch_of().num_tokens == 7
    assert batch_of(num_padding=4).num_tokens == 3


def test_moving_takes_every_tensor_along_and_changes_nothing_else():
    moved = batch_of().to("meta")  # a device every torch has
    assert moved.input_ids.device.type == moved.token_type_ids.device.type == "meta"
    assert moved.sequences.cu_seqlens.device.type == moved.sequences.positions.device.type == "meta"
    assert moved.targets["mlm"].positions.device.type == "meta" and moved.targets["mlm"].label == "kept"
    assert (moved.counts, moved.ids, moved.sequences.lengths) == ({"mlm": 2}, (8, 9), (3, 4))


def test_tuples_of_targets_move_with_their_tensors():
    moved = to_device((Wanted(positions=torch.arange(2)), torch.arange(3), 4), "meta")
    assert isinstance(moved, tuple) and moved[2] == 4
    assert moved[0].positions.device.type == moved[1].device.type == "meta"


def test_what_is_no_tensor_stays_as_it_is():
    for value in (3, "text", None, (1, 2)):
        assert to_device(value, "meta") is value


def test_targets_are_given_as_the_class_that_is_asked_for_and_no_other():
    batch = batch_of()
    assert batch.target("mlm", Wanted).positions.tolist() == [1, 5]
    with pytest.raises(TypeError, match="the targets 'mlm' are Wanted, not Tensor"):
        batch.target("mlm", Tensor)
