"""The mask picture draws what the spans say, cut to its size."""

import pytest

from spanwise.reporting.mask_picture import MAX_COLUMNS, MAX_ROWS, draw_masks, length_shares


def test_stretches_keep_their_place_and_are_cut_at_the_edge():
    picture = draw_masks("t", [20, 300], [(0, 3, 5), (1, 126, 140), (1, 200, 210)])

    assert picture.lengths == (20, MAX_COLUMNS)
    assert [(s.row, s.start, s.length) for s in picture.stretches] == [(0, 3, 2), (1, 126, 2)]


def test_only_the_first_rows_are_drawn_and_no_sequence_is_no_picture():
    picture = draw_masks("t", [10] * 40, [(row, 1, 2) for row in range(40)])

    assert len(picture.lengths) == len(picture.stretches) == MAX_ROWS
    assert draw_masks("t", [], []) is None


def test_shares_of_span_lengths_sum_to_one_and_long_ones_are_one_group():
    shares = length_shares({1: 2, 2: 1, 12: 1, 40: 1})

    assert shares[0] == ("1", pytest.approx(0.4))
    assert shares[-1] == ("12+", pytest.approx(0.4))
    assert sum(share for _, share in shares) == pytest.approx(1.0)
    assert length_shares({}) == []
