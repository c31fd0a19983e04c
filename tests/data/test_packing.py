"""Packs keep the order, lose nothing and close at the first capacity they would pass."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.data.packing import full_packs, pack_boundaries
from spanwise.errors import ConfigError


def greedy(lengths, max_tokens, max_sequences, targets, max_targets):
    """The same in plain words: close a pack when the next row would not fit."""
    borders, tokens, rows, wanted = [0], 0, 0, 0
    for i, length in enumerate(lengths):
        full = tokens + length > max_tokens or rows + 1 > max_sequences or wanted + targets[i] > max_targets
        if rows and full:
            borders.append(i)
            tokens, rows, wanted = 0, 0, 0
        tokens, rows, wanted = tokens + length, rows + 1, wanted + targets[i]
    return [*borders, len(lengths)] if rows else borders


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 30), max_size=60), st.integers(30, 90), st.integers(1, 8), st.integers(8, 20))
def test_packs_are_what_plain_greedy_packing_gives(lengths, max_tokens, max_sequences, max_targets):
    targets = [-(-length // 4) for length in lengths]

    borders = pack_boundaries(
        np.array(lengths, dtype=np.int64),
        max_tokens,
        max_sequences,
        num_targets=np.array(targets, dtype=np.int64),
        max_targets=max_targets,
    )

    assert borders.tolist() == greedy(lengths, max_tokens, max_sequences, targets, max_targets)


def test_no_rows_make_no_pack():
    assert pack_boundaries(np.zeros(0, dtype=np.int64), 10).tolist() == [0]


def test_a_row_larger_than_a_pack_is_an_error_that_names_the_cure():
    with pytest.raises(ConfigError, match="raise max_tokens to at least 11"):
        pack_boundaries(np.array([3, 11]), 10)
    with pytest.raises(ConfigError, match="max_targets"):
        pack_boundaries(np.array([3, 4]), 10, num_targets=np.array([1, 9]), max_targets=8)
    with pytest.raises(ConfigError, match="max_sequences"):
        pack_boundaries(np.array([3]), 10, 0)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 30), max_size=60), st.integers(30, 90), st.integers(1, 8), st.integers(8, 20))
def test_full_packs_hold_every_row_once_and_keep_all_capacities(lengths, max_tokens, max_sequences, max_targets):
    lengths_n = np.array(lengths, dtype=np.int64)
    targets_n = -(-lengths_n // 4)

    order, borders = full_packs(lengths_n, max_tokens, max_sequences, num_targets=targets_n, max_targets=max_targets)

    assert sorted(order.tolist()) == list(range(len(lengths)))
    assert borders[0] == 0 and borders[-1] == len(lengths) and (np.diff(borders) > 0).all()
    for first, last in pairwise(borders):
        rows = order[first:last]
        assert lengths_n[rows].sum() <= max_tokens and len(rows) <= max_sequences
        assert targets_n[rows].sum() <= max_targets


def test_full_packs_keep_the_order_but_for_rows_that_fill_a_pack():
    order, borders = full_packs(np.array([60, 50, 10, 30, 40]), 100)

    assert order.tolist() == [0, 4, 1, 2, 3] and borders.tolist() == [0, 2, 5]


@pytest.mark.parametrize(("shortest", "longest", "room"), [(20, 512, 8_192), (12, 256, 2_048)])
def test_full_packs_leave_less_than_a_hundredth_of_their_room(shortest, longest, room):
    draw = np.random.default_rng(0)  # most rows are nearly as long as they may be, as blocks of a text are
    lengths = np.maximum(shortest, (longest * (1 - 0.2 * draw.random(4_000) ** 2)).astype(np.int64))
    lengths[draw.random(4_000) < 0.08] = shortest + draw.integers(longest - shortest)

    order, borders = full_packs(lengths, room)
    tail = 1 - lengths[order][: borders[-2]].sum() / (room * (len(borders) - 2))
    plain = pack_boundaries(lengths, room)

    assert tail < 0.01 and len(borders) < len(plain)
    assert np.abs(order - np.arange(len(order))).max() < 300  # no row is put off for long


def test_the_last_three_rows_of_a_full_pack_are_chosen_together():
    order, borders = full_packs(np.array([70, 9, 8, 14, 8, 2]), 100)

    assert order[: borders[1]].tolist() == [0, 2, 3, 4]  # 70 + 8 + 14 + 8; in order it would be 70 + 9 + 8 + 8
