"""Compiled copies equal plain slicing."""

import numpy as np

from spanwise.data.gather import bounds_error, copy_ranges, gather_ranges

IDS = np.arange(100, dtype=np.uint16)


def test_ranges_come_end_to_end_and_may_overlap_or_be_empty():
    starts, lengths = np.array([90, 0, 5, 0]), np.array([10, 3, 0, 2])
    found = gather_ranges(IDS, starts, lengths)
    assert found.dtype == np.int64
    assert found.tolist() == [*range(90, 100), 0, 1, 2, 0, 1]


def test_ranges_outside_are_found_even_at_the_largest_integer():
    largest = np.iinfo(np.int64).max
    for start, length in ((-1, 1), (100, 1), (95, 6), (0, -1), (largest, largest), (1, largest)):
        starts, lengths = np.array([0, start]), np.array([1, length])
        assert bounds_error(starts, lengths, 100) == 1
        assert gather_ranges(IDS, starts, lengths).size == 0
    assert bounds_error(np.array([100, 0]), np.array([0, 100]), 100) == -1


def test_copies_go_to_their_places():
    out = np.zeros(6, dtype=np.int64)
    copy_ranges(IDS, np.array([10, 20]), np.array([2, 1]), np.array([4, 1]), out)
    assert out.tolist() == [0, 20, 0, 0, 10, 11]
