"""One-instruction operations agree with Python's unbounded integers."""

from __future__ import annotations

import numpy as np
import pytest

from spanwise.runtime.bit_operations import multiply_high, num_ones, trailing_zeros
from spanwise.runtime.compiled import njit

WORDS = [0, 1, 2, 3, 2**31, 2**32 - 1, 2**32, 0x9E3779B97F4A7C15, 2**63, 2**64 - 2, 2**64 - 1]


@njit
def upper(a, b):
    return multiply_high(a, b)


@njit
def lowest(word):
    return trailing_zeros(word)


@njit
def ones(word):
    return num_ones(word)


@pytest.mark.parametrize("a", WORDS)
def test_the_upper_half_of_a_product_is_exact(a):
    for b in WORDS:
        assert int(upper(np.uint64(a), np.uint64(b))) == a * b >> 64


@pytest.mark.parametrize("word", WORDS)
def test_ones_and_trailing_zeros_are_counted(word):
    assert int(ones(np.uint64(word))) == word.bit_count()
    assert int(lowest(np.uint64(word))) == (64 if word == 0 else (word & -word).bit_length() - 1)
