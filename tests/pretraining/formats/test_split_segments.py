"""ELECTRA's segments: a run of one document, split about half-way; every token once."""

from __future__ import annotations

import numpy as np
import pytest
from toy_blocks import documents_of, visits_of

from spanwise.pretraining.formats import SingleSegment, SplitSegments


@pytest.mark.parametrize("max_length", [5, 16, 40, 512])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_every_token_is_in_one_block_and_the_second_segment_goes_on_where_the_first_ends(max_length, share, store):
    """Long sentences cut, nothing dropped, documents never crossed."""
    table = SplitSegments(max_length=max_length, short_sequence_share=share).blocks(store, 0, 0)

    assert (visits_of(store, table) == 1).all()
    np.testing.assert_array_equal(table.second_starts, table.starts + table.lengths)
    last = table.starts + table.text_lengths - 1
    np.testing.assert_array_equal(documents_of(store, table.starts), documents_of(store, last))
    assert table.packed_lengths.max() <= max_length and table.lengths.min() >= 1
    assert table.num_tokens_dropped == table.num_tokens_repeated == 0


def test_the_share_of_single_segments_is_the_one_that_is_asked_for(many_documents):
    with_none = SplitSegments(max_length=64, single_segment_share=0.0).blocks(many_documents, 0, 0)
    with_some = SplitSegments(max_length=64, single_segment_share=0.1).blocks(many_documents, 0, 0)
    with_all = SplitSegments(max_length=64, single_segment_share=1.0).blocks(many_documents, 0, 0)

    could_split = with_none.second_lengths > 0
    among_those = np.mean(with_some.second_lengths[could_split] == 0)
    assert could_split.sum() > 2_000 and among_those == pytest.approx(0.1, abs=0.025)
    assert not with_all.second_lengths.any()


def test_a_run_is_split_at_the_sentence_that_passes_the_half(write_store):
    """Ten sentences of 6 tokens in 61: half is 30, so A has 24 tokens, or by a coin 30."""
    store = write_store([[[5] * 6] * 10] * 200)
    table = SplitSegments(max_length=64, single_segment_share=0.0).blocks(store, 0, 0)

    counts = dict(zip(*np.unique(table.lengths, return_counts=True), strict=True))

    assert counts.keys() == {24, 30} and counts[24] == pytest.approx(100, abs=30)
    assert set(table.text_lengths) == {60}


def test_a_first_sentence_beyond_the_half_is_the_first_segment(write_store):
    store = write_store([[[5] * 40, [6] * 15], [[7] * 9]])

    table = SplitSegments(max_length=64, single_segment_share=0.0).blocks(store, 0, 0)

    assert table.lengths.tolist() == [40, 9] and table.second_lengths.tolist() == [15, 0]
    assert table.num_special.tolist() == [3, 2]


def test_short_sequences_are_as_many_as_asked_for(many_documents):
    full = SplitSegments(max_length=64).blocks(many_documents, 0, 0)
    short = SplitSegments(max_length=64, short_sequence_share=0.5).blocks(many_documents, 0, 0)

    assert short.num_blocks > 1.2 * full.num_blocks
    assert full.num_blocks == SingleSegment(max_length=63).blocks(many_documents).num_blocks
