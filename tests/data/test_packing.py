"""Packs keep the order, lose nothing and close at the first capacity they would pass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.data.packing import pack_boundaries
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
