"""BERT's pairs: what follows, or text of another document; what is lost and repeated is counted."""

from __future__ import annotations

import numpy as np
import pytest
from toy_blocks import documents_of, equal_tables, sequences_of, visits_of

from spanwise.errors import ConfigError, DataError
from spanwise.pretraining.formats import BlockTable, SegmentPair, SentencePair


def own_text(table: BlockTable) -> BlockTable:
    """The table without its random partners."""
    random = table.pair_labels == 1
    return BlockTable(
        starts=table.starts,
        lengths=table.lengths,
        second_starts=table.second_starts,
        second_lengths=np.where(random, 0, table.second_lengths),
        num_special=3,
    )


@pytest.mark.parametrize("max_length", [5, 16, 40, 512])
@pytest.mark.parametrize(
    "options", [{}, {"lone_sentences": "extra", "short_sequence_share": 0.3}, {"sentences": "one"}]
)
def test_a_partner_follows_in_its_document_or_comes_from_another(max_length, options, store):
    table = SentencePair(max_length=max_length, **options).blocks(store, 0, 0)

    random = table.pair_labels == 1
    first, second = documents_of(store, table.starts), documents_of(store, table.second_starts)
    np.testing.assert_array_equal(first != second, random)
    after = table.starts + table.lengths
    assert (table.second_starts >= after)[~random].all()
    assert (table.second_starts == after)[~random & (table.text_lengths < max_length - 3)].all()
    assert table.lengths.min() >= 1 and table.second_lengths.min() >= 1
    assert table.packed_lengths.max() <= max_length
    assert 0 < random.sum() < len(random)


@pytest.mark.parametrize("max_length", [5, 16, 40, 512])
@pytest.mark.parametrize("sentences", ["many", "one"])
def test_what_is_dropped_and_repeated_is_what_the_counts_say(max_length, sentences, store):
    """A document's own text is walked over once, partners that were replaced are put back."""
    table = SentencePair(max_length=max_length, sentences=sentences).blocks(store, 0, 0)

    visits = visits_of(store, own_text(table))
    assert visits.max() == 1
    assert table.num_tokens_dropped == (visits == 0).sum()
    assert table.num_tokens_repeated == table.second_lengths[table.pair_labels == 1].sum()
    assert table.text_lengths.sum() == store.num_tokens - table.num_tokens_dropped + table.num_tokens_repeated
    if max_length == 512:
        assert table.num_tokens_dropped < 0.02 * store.num_tokens


def test_half_of_all_partners_are_random_though_some_sentences_have_no_next(many_documents):
    """Google's data has more; here others keep their next instead."""
    balanced = SentencePair(max_length=64).blocks(many_documents, 0, 0).pair_labels
    extra = SentencePair(max_length=64, lone_sentences="extra").blocks(many_documents, 0, 0).pair_labels

    assert len(balanced) > 3_000
    assert np.mean(balanced) == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(len(balanced)))
    assert np.mean(extra) > 0.55


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_other_shares_hold_over_all_pairs_too(share, many_documents):
    labels = SentencePair(max_length=64, random_share=share).blocks(many_documents, 0, 0).pair_labels

    assert np.mean(labels) == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / len(labels)))


def test_where_almost_all_documents_are_one_sentence_the_rest_keep_their_next(write_store):
    store = write_store([[[5] * 9]] * 30 + [[[6] * 9, [7] * 9]] * 10)

    labels = SentencePair(max_length=64).blocks(store, 0, 0).pair_labels

    assert labels[:30].tolist() == [1] * 30 and labels[30:].tolist() == [0] * 10


def test_random_partners_begin_at_any_sentence_of_any_other_document(write_store):
    """All documents alike, whatever their length; only whole sentences begin one, and its own document never serves."""
    store = write_store([[[5] * 8] * 2] * 3 + [[[6] * 8] * 40])
    part = SentencePair(max_length=19, random_share=1.0)  # a sentence and its partner fit exactly

    tables = [part.blocks(store, 0, epoch) for epoch in range(60)]

    starts = np.concatenate([table.second_starts[:6] for table in tables])
    assert np.isin(starts, store.sentence_offsets).all()
    shares = np.bincount(documents_of(store, starts), minlength=4) / len(starts)
    assert shares[3] == pytest.approx(1 / 3, abs=0.1)
    assert len(np.unique(starts)) > 20


def test_the_first_segment_is_any_number_of_the_sentences(write_store):
    store = write_store([[[5] * 10] * 4] * 1_000)

    table = SentencePair(max_length=43, random_share=0.0).blocks(store, 0, 0)

    counts = np.unique(table.lengths, return_counts=True)
    assert counts[0].tolist() == [10, 20, 30] and counts[1] == pytest.approx(333, abs=60)
    assert table.num_tokens_dropped == table.num_tokens_repeated == 0


def test_sentences_that_were_replaced_begin_the_next_block(write_store):
    store = write_store([[[5] * 10] * 6, [[6] * 10] * 6])

    table = SentencePair(max_length=200, random_share=1.0).blocks(store, 0, 0)

    ends = table.starts + table.lengths
    assert table.starts[0] == 0 and ends[-1] == 120
    np.testing.assert_array_equal(table.starts[1:], ends[:-1])


def test_what_is_too_long_is_cut_from_the_longer_segment_at_both_ends(many_documents):
    table = SentencePair(max_length=48, random_share=0.0, lone_sentences="extra").blocks(many_documents, 0, 0)
    offsets = many_documents.sentence_offsets
    kept = table.pair_labels == 0

    front_cut = ~np.isin(table.starts[kept], offsets)
    end_cut = ~np.isin((table.starts + table.lengths)[kept], offsets)
    full = table.text_lengths[kept] == 45
    assert front_cut.mean() > 0.1 and end_cut.mean() > 0.1
    assert full[front_cut | end_cut].all()
    much_longer = kept & (table.lengths > table.second_lengths + 1) & (table.text_lengths == 45)
    whole = np.isin(table.second_starts, offsets) & np.isin(table.second_starts + table.second_lengths, offsets)
    assert whole[much_longer].all() and much_longer.sum() > 50  # the shorter one is left alone


def test_single_sentences_make_short_pairs(many_documents):
    """RoBERTa's SENTENCE-PAIR."""
    table = SentencePair(max_length=128, sentences="one").blocks(many_documents, 0, 0)

    starts, ends = many_documents.sentence_offsets[:-1], many_documents.sentence_offsets[1:]
    for begin, size in ((table.starts, table.lengths), (table.second_starts, table.second_lengths)):
        np.testing.assert_array_equal(ends[np.searchsorted(starts, begin)], begin + size)
    assert np.mean(table.pair_labels) == pytest.approx(0.5, abs=0.03)
    assert table.packed_lengths.max() <= 2 * 19 + 3


def test_short_sequences_shorten_some_documents_blocks(many_documents):
    full = SentencePair(max_length=64).blocks(many_documents, 0, 0)
    short = SentencePair(max_length=64, short_sequence_share=1.0).blocks(many_documents, 0, 0)

    assert short.packed_lengths.mean() < 0.8 * full.packed_lengths.mean()
    with pytest.raises(ConfigError, match=r"short_sequence_share 0\.1 changes nothing"):
        SentencePair(sentences="one", short_sequence_share=0.1)


def test_a_single_document_has_no_random_partner(write_store):
    with pytest.raises(DataError, match="one document"):
        SentencePair(max_length=64).blocks(write_store([[[5] * 5, [6] * 5]]), 0, 0)


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
