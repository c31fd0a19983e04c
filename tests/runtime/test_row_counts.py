"""Rounded numbers of rows: few of them, little more than asked, and the same products."""

import pytest
import torch

from spanwise.runtime.device import autocast
from spanwise.runtime.row_counts import apply_to_rows, num_filler_rows, rounded_rows, with_filler, with_filler_places

CPU = torch.device("cpu")


@pytest.mark.parametrize("num_rows", [0, 1, 15, 16, 17, 511, 512, 513, 1000, 2049, 4095, 4096, 4097, 100_000])
def test_little_is_added_and_what_is_rounded_stays(num_rows):
    rounded = rounded_rows(num_rows)
    assert num_rows <= rounded <= max(num_rows + 15, num_rows * (1 + 1 / 16))
    assert rounded_rows(rounded) == rounded


def test_counts_between_two_powers_of_two_are_few():
    assert len({rounded_rows(num_rows) for num_rows in range(2049, 4097)}) == 32
    assert len({rounded_rows(num_rows) for num_rows in range(1, 4097)}) < 200


def test_filler_comes_where_kernels_are_made_by_shape_alone():
    rows = torch.ones(3001, 8)
    assert num_filler_rows(rows) == 0
    assert with_filler(rows) is rows
    with autocast("bf16", CPU):
        assert num_filler_rows(rows) == rounded_rows(3001) - 3001
        assert num_filler_rows(rows[:0]) == 0
        padded = with_filler(rows)
    assert padded.shape == (rounded_rows(3001), 8)
    assert padded[3001:].eq(0).all()


def test_a_product_of_rows_and_its_gradient_are_those_without_filler():
    torch.manual_seed(0)
    linear, rows = torch.nn.Linear(8, 4), torch.randn(37, 8, requires_grad=True)
    with autocast("bf16", CPU):
        plain, filled = linear(rows), apply_to_rows(linear, rows)
    assert filled.shape == plain.shape
    torch.testing.assert_close(filled, plain)
    gradients = [
        torch.autograd.grad(out.float().square().sum(), (rows, *linear.parameters())) for out in (plain, filled)
    ]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-2)


def test_places_are_filled_up_with_the_first_one_and_stay_as_they_are_in_float32():
    places = torch.tensor([4, 7, 9])
    assert with_filler_places(places) is places
    with autocast("bf16", CPU):
        assert with_filler_places(places).tolist() == [4, 7, 9] + 13 * [4]
        assert with_filler_places(places[:0]).tolist() == []
