"""Spans are the unbroken runs of hidden tokens, never across a sequence border."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_packs import packs_of

from spanwise.pretraining.masking.merge import hidden_tokens, no_token_hidden, runs
from spanwise.pretraining.packs import Spans


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.booleans(), max_size=30), min_size=1, max_size=5))
def test_runs_are_what_a_plain_scan_finds(sequences):
    borders = np.cumsum([0] + [len(sequence) for sequence in sequences])
    flat = [token for sequence in sequences for token in sequence]
    hidden_T = no_token_hidden(len(flat))
    hidden_T[: len(flat)] = flat
    expected = []
    for s, sequence in enumerate(sequences):
        for i, hidden in enumerate(sequence):
            if hidden and (i == 0 or not sequence[i - 1]):
                expected.append([s, int(borders[s]) + i, int(borders[s]) + i])
            if hidden:
                expected[-1][2] += 1

    found = runs(hidden_T, borders, sum(flat))

    assert [list(row) for row in zip(*(column.tolist() for column in found), strict=True)] == expected


def test_hidden_tokens_carry_their_span_and_the_original_id():
    pack = packs_of(2, 10)
    spans = Spans(sequence=np.array([0, 1]), start=np.array([3, 14]), end=np.array([5, 17]), num_drawn=2)

    hidden = hidden_tokens(pack, spans)

    assert hidden.position.tolist() == [3, 4, 14, 15, 16]
    assert hidden.span.tolist() == [0, 0, 1, 1, 1]
    np.testing.assert_array_equal(hidden.original_ids, pack.input_ids[[3, 4, 14, 15, 16]])
