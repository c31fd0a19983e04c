"""A linear layer of bytes: exact sums, a scale for each output, and weights that can't be made bytes."""

import pytest
import torch
from tests.nn.int8.byte_machine import refused_here
from torch import nn

from spanwise.errors import CheckpointError
from spanwise.nn.int8.linear import ByteLinear


def linear(num_inputs=48, num_outputs=36):
    made = nn.Linear(num_inputs, num_outputs)
    with torch.no_grad():
        made.weight.normal_(generator=torch.Generator().manual_seed(1)).mul_(
            torch.logspace(-3, 1, num_outputs)[:, None]
        )
    return made


def codes(num_rows, width=48, seed=2):
    return torch.randint(0, 256, (num_rows, width), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("zero", [128, 32])
def test_sums_are_those_of_the_rounded_weights_whatever_their_size(zero):
    if refused_here():
        return
    plain = linear()
    layer = ByteLinear(plain, zero, "toy")
    rows = codes(16)
    scales = plain.weight.detach().abs().amax(1) / 127
    weights = (plain.weight.detach() / scales[:, None]).round().double()
    expected = (rows.double() - zero) @ weights.T * scales.double()
    torch.testing.assert_close(layer.sums(rows).double(), expected, rtol=1e-5, atol=0)


def test_a_row_has_the_same_sums_among_any_number_of_rows():
    if refused_here():
        return
    layer = ByteLinear(linear(), 128, "toy")
    rows = codes(256)
    whole = layer.sums(rows)
    for begin, end in ((0, 16), (16, 64), (0, 240)):
        assert torch.equal(layer.sums(rows[begin:end]), whole[begin:end])


def test_the_widest_sums_are_not_cut():
    if refused_here():
        return
    plain = nn.Linear(4096, 16)
    nn.init.constant_(plain.weight, 2.0)
    layer = ByteLinear(plain, 0, "toy")
    sums = layer.sums(torch.full((16, 4096), 255, dtype=torch.uint8))
    torch.testing.assert_close(sums, torch.full((16, 16), 2.0 * 255 * 4096))


def test_an_output_without_weights_is_zero():
    if refused_here():
        return
    plain = linear()
    with torch.no_grad():
        plain.weight[3] = 0.0
    assert (ByteLinear(plain, 128, "toy").sums(codes(16))[:, 3] == 0).all()


def test_weights_that_are_no_numbers_are_refused_by_name():
    plain = linear()
    with torch.no_grad():
        plain.weight[0, 0] = float("nan")
    with pytest.raises(CheckpointError, match=r"layers\.3\.up"):
        ByteLinear(plain, 128, "layers.3.up")
