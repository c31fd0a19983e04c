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
    st.integers(20, 48),
)
def test_loops_and_operators_have_the_same_bits(values, bits):
    gradient, shift = torch.tensor(values, dtype=torch.float32).view(1, -1), torch.tensor(bits)
    first, was_wrong = add_units(gradient, shift, MOST, None)
    again, is_wrong = add_units(gradient, shift, MOST, first.clone())
    expected = torch.ldexp(gradient.double(), shift).round().to(torch.int64)

    assert not was_wrong and not is_wrong
    assert torch.equal(first, expected) and torch.equal(again, 2 * expected)
    assert torch.equal(as_floats(again, shift, torch.float32), torch.ldexp(again.double(), -shift).float())


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
