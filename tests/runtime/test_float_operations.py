"""Compiled float32 arithmetic agrees with NumPy's and torch's."""

from __future__ import annotations

import numpy as np
import torch

from spanwise.runtime.compiled import njit
from spanwise.runtime.float_operations import array_of, exponential, larger, like, widened

SPECIAL = [0.0, -0.0, 1.0, -1.5, 3.0e38, -3.0e38, 1e-38, 1.00390625, 1.01171875, np.inf, -np.inf, np.nan]


@njit
def widen_all(source, target):
    for i in range(len(source)):
        target[i] = widened(source[i])


@njit
def narrow_all(source, target):
    for i in range(len(source)):
        target[i] = like(source[i], target[i])


@njit
def exponentials(source, target):
    for i in range(len(source)):
        target[i] = exponential(source[i])


@njit
def largest(values):
    best = values[0]
    for value in values:
        best = larger(best, value)
    return best


def numbers():
    random = torch.randn(10_000, generator=torch.Generator().manual_seed(0)) * 100
    return torch.cat((torch.tensor(SPECIAL), random))


def test_bfloat16_is_widened_exactly_and_float32_passes():
    narrow = numbers().bfloat16()
    for tensor in (narrow, narrow.float()):
        found = np.empty(len(tensor), dtype=np.float32)
        widen_all(array_of(tensor), found)
        np.testing.assert_array_equal(found, narrow.float().numpy())


def test_float32_is_rounded_to_bfloat16_as_torch_rounds():
    wide, narrow = numbers(), torch.empty(len(numbers()), dtype=torch.bfloat16)
    narrow_all(array_of(wide), array_of(narrow))
    np.testing.assert_array_equal(narrow.float().numpy(), wide.bfloat16().float().numpy())
    same = torch.empty_like(wide)
    narrow_all(array_of(wide), array_of(same))
    np.testing.assert_array_equal(same.numpy(), wide.numpy())


def test_the_exponential_is_right_to_seven_digits():
    x = np.linspace(-87, 88, 200_001, dtype=np.float32)
    found = np.empty_like(x)
    exponentials(x, found)
    np.testing.assert_allclose(found, np.exp(x.astype(np.float64)), rtol=3e-7)


def test_the_exponential_of_what_underflows_is_tiny_and_not_a_number_stays():
    x = np.array([-88, -1e4, -np.inf, np.nan], dtype=np.float32)
    found = np.empty_like(x)
    exponentials(x, found)
    assert (found[:3] < 1.7e-38).all() and np.isnan(found[3])


def test_the_larger_of_a_number_and_none_is_none():
    assert largest(np.array([1, 5, 3], dtype=np.float32)) == 5
    assert np.isnan(largest(np.array([1, np.nan, 3], dtype=np.float32)))
