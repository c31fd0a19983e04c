"""Weights part of the way from the start, and back without a changed bit."""

import math

import pytest
import torch
from torch import nn

from spanwise.adapt.mixed import SQUARE, copied, part_of_the_way, power_of, share_within


def test_within_it_the_weights_are_between_and_behind_it_as_before_even_after_an_error():
    model = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))
    start = copied(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter))
    ends = copied(model)
    with part_of_the_way(model, start, 0.25):
        for parameter, first, end in zip(model.parameters(), start, ends, strict=True):
            assert torch.allclose(parameter, 0.75 * first + 0.25 * end, atol=1e-6)
    assert all(map(torch.equal, copied(model), ends))
    with pytest.raises(KeyError), part_of_the_way(model, start, 0.5):
        raise KeyError
    assert all(map(torch.equal, copied(model), ends))


def test_tied_weights_are_mixed_once():
    model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False))
    model[1].weight = model[0].weight
    start = copied(model)
    with torch.no_grad():
        model[0].weight.zero_()
    with part_of_the_way(model, start, 0.5):
        assert torch.allclose(model[1].weight, start[0] / 2)


@pytest.mark.parametrize(
    ("bound", "rise", "share"),
    [(0.02, 0.08, 0.45), (0.02, 0.0201, 0.9), (0.0, 0.1, 0.0), (0.02, math.inf, 0.0), (0.02, math.nan, 0.0)],
)
def test_the_share_of_the_way_that_a_bound_allows(bound, rise, share):
    assert share_within(bound, rise) == pytest.approx(share, abs=0.01)


def test_the_next_share_follows_the_rise_that_was_seen_after_a_part():
    assert power_of(0.5, 0.25, 1.0) == pytest.approx(2.0) and power_of(0.5, 0.5, 1.0) == pytest.approx(1.0)
    assert power_of(0.5, -0.1, 1.0) == power_of(0.5, math.nan, 1.0) == SQUARE
    assert power_of(0.5, 0.99, 1.0) == 0.5 and power_of(0.9, 0.001, 1.0) == 4.0
    assert share_within(0.02, 0.08, power=1.0) == pytest.approx(0.225)


def test_weights_that_do_not_fit_leave_the_model_as_it_was():
    model = nn.Linear(3, 2)
    start = copied(model)
    ends = copied(model)
    start[1] = torch.zeros(5)
    with pytest.raises(RuntimeError), part_of_the_way(model, start, 0.5):
        raise AssertionError("the mixing itself fails")
    assert all(map(torch.equal, copied(model), ends))
