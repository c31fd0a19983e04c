"""One loop puts the special tokens of every format."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from spanwise.errors import ConfigError
from spanwise.pretraining.formats.pieces import Frame, Pieces, assemble, cut_at_documents, one_piece_each


@pytest.fixture
def text(vocabulary):
    """A store of the ids 10 to 39 and 110 to 139; 100 and above go on with a word."""
    ids = np.concatenate([np.arange(10, 40), np.arange(110, 140)])

    def gather(starts, lengths):
        return np.concatenate([ids[start : start + length] for start, length in zip(starts, lengths, strict=True)])

    return SimpleNamespace(vocabulary=vocabulary, gather=gather)


TWO_AND_ONE = Pieces(starts=np.array([0, 28, 5]), lengths=np.array([2, 4, 1]), firsts=np.array([0, 2, 3]))
ROWS = np.array([8, 3])


def test_a_pair_has_a_separator_after_each_part_and_its_types(text):
    pack = assemble(text, TWO_AND_ONE, ROWS, Frame(num_token_types=2), np.array([1, -1]))

    assert pack.input_ids.tolist() == [2, 10, 11, 3, 38, 39, 110, 111, 3, 2, 15, 3]
    assert pack.token_type_ids.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0]
    assert pack.borders.tolist() == [0, 9, 12]
    assert pack.maskable.tolist() == [id not in (2, 3) for id in pack.input_ids]
    assert pack.starts_word.nonzero()[0].tolist() == [1, 2, 4, 5, 10]
    assert pack.block_ids.tolist() == [8, 3] and pack.pair_labels.tolist() == [1, -1]


def test_roberta_has_two_separators_between_parts_and_one_type(text):
    pack = assemble(text, TWO_AND_ONE, ROWS, Frame(num_between=2), None)

    assert pack.input_ids.tolist() == [2, 10, 11, 3, 3, 38, 39, 110, 111, 3, 2, 15, 3]
    assert not pack.token_type_ids.any() and pack.pair_labels is None


def test_a_piece_that_begins_inside_a_word_counts_as_the_begin_of_one(text):
    pack = assemble(text, one_piece_each(np.array([31]), np.array([3])), ROWS[:1], Frame(), None)

    assert pack.starts_word.tolist() == [False, True, False, False, False]


def test_a_frame_without_special_tokens_needs_none(text):
    text.vocabulary = replace(text.vocabulary, cls_id=-1, sep_id=-1)

    pack = assemble(
        text, one_piece_each(np.array([0]), np.array([3])), ROWS[:1], Frame(opens=False, closes=False), None
    )

    assert pack.input_ids.tolist() == [10, 11, 12] and pack.maskable.all()


@pytest.mark.parametrize(("missing", "name"), [("cls_id", "cls_token"), ("sep_id", "sep_token")])
def test_a_special_token_that_the_tokenizer_lacks_is_named(text, missing, name):
    text.vocabulary = replace(text.vocabulary, **{missing: -1})

    with pytest.raises(ConfigError, match=f"{name}.*ContiguousText"):
        assemble(text, TWO_AND_ONE, ROWS, Frame(), None)


def test_ranges_are_cut_where_documents_end_and_empty_documents_count_once():
    store = SimpleNamespace(sentence_offsets=np.array([0, 4, 4, 10, 12]), document_borders=np.array([0, 1, 2, 3, 4]))

    pieces = cut_at_documents(
        store,
        np.array([0, 5, 4, 4]),
        np.array([12, 5, 6, 6]),
        np.array([2, 0, 1, 2]),
        np.array([False, False, True, True]),
    )

    assert pieces.firsts.tolist() == [0, 3, 4, 6, 9]
    assert pieces.lengths.tolist() == [4, 6, 2, 5, 0, 6, 0, 6, 0]
    assert pieces.starts.tolist() == [0, 4, 10, 5, 4, 4, 4, 4, 10]


def test_what_follows_the_end_of_a_word_starts_one_within_a_piece(text):
    """Kinds that mark ends: GPT-1's pieces, and punctuation in byte-level BPE."""
    ends = np.isin(np.arange(text.vocabulary.size), [39, 110])
    text.vocabulary = replace(text.vocabulary, ends_word=ends, starts_word=np.zeros(text.vocabulary.size, dtype=bool))
    pieces = Pieces(starts=np.array([28, 31]), lengths=np.array([5, 2]), firsts=np.array([0, 1, 2]))

    pack = assemble(text, pieces, ROWS, Frame(), None)

    assert pack.input_ids.tolist() == [2, 38, 39, 110, 111, 112, 3, 2, 111, 112, 3]
    assert pack.starts_word.nonzero()[0].tolist() == [1, 3, 4, 8]
