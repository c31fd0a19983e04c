"""RoBERTa's comparison reads BERT's pairs in its own layout."""

from __future__ import annotations

import numpy as np
from toy_blocks import equal_tables, sequences_of

from spanwise.pretraining.formats import SegmentPair, SentencePair


def test_the_pairs_are_berts_with_two_separators_and_one_token_type(store):
    part = SegmentPair(max_length=40)
    plain = SentencePair(max_length=39)  # the same room for text
    table = part.blocks(store, 0, 0)

    pack = part.assemble(store, table, np.arange(table.num_blocks))

    assert np.array_equal(table.starts, plain.blocks(store, 0, 0).starts)
    assert not pack.token_type_ids.any()
    sep_id = store.vocabulary.sep_id
    for sequence, length in zip(sequences_of(part, store, table), table.lengths, strict=True):
        assert [place for place, token in enumerate(sequence) if token == sep_id] == [
            length + 1,
            length + 2,
            len(sequence) - 1,
        ]


def test_single_sentences_are_its_sentence_pair_input(store):
    part = SegmentPair(max_length=100, sentences="one")

    assert not equal_tables(part.blocks(store, 0, 0), SegmentPair(max_length=100).blocks(store, 0, 0))
    assert set(part.blocks(store, 0, 0).lengths) <= set(store.sentence_lengths.tolist())
