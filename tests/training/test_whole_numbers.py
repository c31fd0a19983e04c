"""The compiled loops give the bits of torch's operators, and nothing that is no number slips through."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.training import whole_numbers
from spanwise.training.whole_numbers import add_units, as_floats, squares

MOST = 2.0**52


@pytest.fixture
def by_torch(monkeypatch):
    """A caller whose arithmetic is that of a device without compiled loops."""

    def call(function, *arguments):
        with monkeypatch.context() as changes:
            changes.setattr(whole_numbers, "serves", lambda tensor: False)
            return function(*arguments)

    return call


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-8, max_value=8), max_size=50),
    st.integers(-84, 160),  # the largest and the smallest float32: 8 * 2 ** 40 units are 2 ** (43 - shift)
    st.booleans(),
)
def test_loops_and_operators_have_the_same_bits(values, bits, has_room):
    shift = torch.tensor(bits)
    gradient = torch.ldexp(torch.tensor(values, dtype=torch.float64), 40 - shift).float().view(1, -1)
    room = torch.full(gradient.shape, 7) if has_room else None
    first, was_wrong = add_units(gradient, shift, MOST, None, room)
    assert room is None or first is room
    again, is_wrong = add_units(gradient, shift, MOST, first.clone())
    expected = torch.ldexp(gradient.double(), shift).round().to(torch.int64)

    assert not was_wrong and not is_wrong
    assert torch.equal(first, expected) and torch.equal(again, 2 * expected)
    assert torch.equal(as_floats(again, shift, torch.float32), torch.ldexp(again.double(), -shift).float())


@pytest.mark.parametrize("gradient", [torch.arange(12.0).view(3, 4).t(), torch.arange(9.0)[::2], torch.tensor(2.5)])
def test_gradients_that_lie_apart_in_memory_or_have_no_axis_are_the_same_numbers(by_torch, gradient):
    shift = torch.tensor(3)
    found, expected = add_units(gradient, shift, MOST, None)[0], by_torch(add_units, gradient, shift, MOST, None)[0]
    assert found.shape == gradient.shape and torch.equal(found, expected)
    assert torch.equal(as_floats(found, shift, torch.float32), gradient)
    assert torch.equal(squares(gradient, shift), by_torch(squares, gradient, shift))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_sum_of_squares_does_not_depend_on_the_way(by_torch, threads):
    gradient = torch.randn(513, 7, generator=torch.Generator().manual_seed(threads))
    shift, before = torch.tensor(27), torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        found = squares(gradient, shift)
    finally:
        torch.set_num_threads(before)

    upper, lower = found.tolist()
    units = [round(math.ldexp(value, 27)) for value in gradient.flatten().tolist()]
    assert (upper << whole_numbers.SQUARED) + lower == sum(unit * unit for unit in units)
    assert torch.equal(by_torch(squares, gradient, shift), found)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 2.0**53])
def test_what_is_no_number_or_too_large_is_told(by_torch, bad):
    gradient = torch.tensor([1.0, bad, 2.0])

    assert add_units(gradient, torch.tensor(0), MOST, None)[1]
    assert by_torch(add_units, gradient, torch.tensor(0), MOST, None)[1]
