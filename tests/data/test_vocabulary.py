"""What array code is told of a tokenizer fits the ids of a store."""

import dataclasses

import numpy as np
import pytest


def test_every_table_has_a_row_for_each_id(store):
    vocabulary = store.vocabulary
    for name in ("is_special", "starts_word", "unigram_counts"):
        assert getattr(vocabulary, name).shape == (vocabulary.size,), name


def test_no_special_token_starts_a_word_but_the_unknown_one(store):
    vocabulary = store.vocabulary
    assert np.flatnonzero(vocabulary.is_special & vocabulary.starts_word).tolist() == [vocabulary.unk_id]


def test_a_vocabulary_cannot_be_changed_by_those_who_read_it(store):
    with pytest.raises(dataclasses.FrozenInstanceError):
        store.vocabulary.size = 3
