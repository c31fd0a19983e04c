"""A block table says how much room its blocks take."""

from __future__ import annotations

import numpy as np

from spanwise.pretraining.formats import BlockTable


def test_packed_lengths_count_the_special_tokens():
    table = BlockTable(starts=np.array([0, 7]), lengths=np.array([7, 3]), num_special=2)

    assert table.num_blocks == 2
    assert table.packed_lengths.tolist() == [9, 5]
    assert table.packed_lengths_of(np.array([1, 0])).tolist() == [5, 9]
    assert (table.num_tokens_dropped, table.num_tokens_repeated) == (0, 0)


def test_packed_lengths_count_both_ranges_and_each_blocks_own_special_tokens():
    table = BlockTable(
        starts=np.array([0, 7]),
        lengths=np.array([7, 3]),
        second_starts=np.array([10, 0]),
        second_lengths=np.array([4, 0]),
        num_special=np.array([3, 2]),
    )

    assert table.text_lengths.tolist() == [11, 3]
    assert table.packed_lengths.tolist() == [14, 5]
    assert table.packed_lengths_of(np.array([1, 0, 1])).tolist() == [5, 14, 5]
    assert table.lengths.tolist() == [7, 3]
