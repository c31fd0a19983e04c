"""Pairs for sentence order: the same two segments, in order or swapped, and never anything else."""

from __future__ import annotations

import numpy as np
import pytest
from toy_blocks import documents_of, visits_of

from spanwise.pretraining.formats import NO_LABEL, OrderedPair


@pytest.mark.parametrize("max_length", [5, 16, 40, 512])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_pairs_are_neighbours_of_one_document_and_every_token_is_in_one_block(max_length, share, store):
    """No random document, nothing dropped, long sentences cut."""
    table = OrderedPair(max_length=max_length, short_sequence_share=share).blocks(store, 0, 0)

    assert (visits_of(store, table) == 1).all()
    assert table.num_tokens_dropped == table.num_tokens_repeated == 0
    assert table.packed_lengths.max() <= max_length
    pair = table.pair_labels != NO_LABEL
    swapped = table.pair_labels == 1
    earlier = np.where(swapped, table.second_starts, table.starts)[pair]
    later = np.where(swapped, table.starts, table.second_starts)[pair]
    gap = np.where(swapped, table.second_lengths, table.lengths)[pair]
    np.testing.assert_array_equal(later, earlier + gap)
    np.testing.assert_array_equal(documents_of(store, earlier), documents_of(store, later))


def test_segments_meet_at_a_border_of_sentences(many_documents):
    table = OrderedPair(max_length=64).blocks(many_documents, 0, 0)
    pair = table.pair_labels != NO_LABEL

    assert np.isin(table.starts, many_documents.sentence_offsets).all()
    assert np.isin(table.second_starts[pair], many_documents.sentence_offsets).all()
    assert pair.sum() > 2_000


def test_a_run_of_one_sentence_has_one_segment_and_no_label(write_store):
    """The released code gives it a random document and calls that "swapped"."""
    store = write_store([[[5] * 9], [[6] * 30, [7] * 28, [8] * 4]])

    table = OrderedPair(max_length=35, swapped_share=0.0).blocks(store, 0, 0)

    assert table.lengths.tolist() == [9, 30, 28] and table.second_lengths.tolist() == [0, 0, 4]
    assert table.pair_labels.tolist() == [NO_LABEL, NO_LABEL, 0]
    assert table.num_special.tolist() == [2, 2, 3]


def test_a_crumb_of_a_cut_sentence_is_no_segment_alone(write_store):
    """Its full stop says nothing of the order; a short sentence does, and so does a longer rest."""
    crumb = [[5] * 61, [6] * 10]
    three = [[5] * 61, [6] * 10, [7] * 10]
    rest = [[5] * 64, [6] * 10]
    short = [[5], [6] * 10]
    store = write_store([crumb, rest, short, *[three] * 40])

    table = OrderedPair(max_length=63, swapped_share=0.0).blocks(store, 0, 0)

    assert table.lengths[:5].tolist() == [60, 11, 60, 4, 1]
    assert table.second_lengths[:5].tolist() == [0, 0, 0, 10, 10]
    assert table.pair_labels[:5].tolist() == [NO_LABEL, NO_LABEL, NO_LABEL, 0, 0]
    pairs = set(zip(table.lengths[6::2].tolist(), table.pair_labels[6::2].tolist(), strict=True))
    assert pairs == {(21, NO_LABEL), (11, 0)}  # a crumb goes with the sentence behind it


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_share_of_swapped_pairs_is_the_one_that_is_asked_for(share, many_documents):
    table = OrderedPair(max_length=64, swapped_share=share).blocks(many_documents, 0, 0)
    labels = table.pair_labels[table.pair_labels != NO_LABEL]

    assert len(labels) > 2_000
    assert np.mean(labels) == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / len(labels)))


def test_the_cut_is_at_any_sentence_with_equal_chance(write_store):
    store = write_store([[[5] * 10] * 4] * 1_000)

    table = OrderedPair(max_length=64, swapped_share=0.0).blocks(store, 0, 0)

    assert set(table.text_lengths) == {40}
    counts = np.unique(table.lengths, return_counts=True)
    assert counts[0].tolist() == [10, 20, 30] and counts[1] == pytest.approx(333, abs=60)


def test_a_label_does_not_depend_on_which_segment_is_longer(many_documents):
    """Otherwise lengths alone would tell the order."""
    table = OrderedPair(max_length=64).blocks(many_documents, 0, 0)
    pair = table.pair_labels != NO_LABEL
    longer_first = table.lengths > table.second_lengths

    shares = [np.mean(table.pair_labels[pair & longer_first]), np.mean(table.pair_labels[pair & ~longer_first])]

    assert shares == pytest.approx([0.5, 0.5], abs=0.06)


def test_short_sequences_are_drawn_once_a_document(many_documents):
    full = OrderedPair(max_length=256).blocks(many_documents, 0, 0)
    short = OrderedPair(max_length=256, short_sequence_share=0.5).blocks(many_documents, 0, 0)

    def blocks_by_document(table):
        return np.bincount(documents_of(many_documents, np.minimum(table.starts, table.second_starts)), minlength=2_000)

    same = blocks_by_document(full) == blocks_by_document(short)
    assert 0.5 < np.mean(same) < 0.95  # half aim at the full length; short documents may come out alike all the same
