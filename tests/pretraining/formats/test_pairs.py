"""Formats of two segments share their layout, their room and their checks."""

from __future__ import annotations

import numpy as np
import pytest
from toy_blocks import equal_tables, sequences_of

from spanwise.config import from_record, override, to_record
from spanwise.errors import ConfigError, DataError
from spanwise.pretraining.formats import OrderedPair, SegmentPair, SentencePair, SplitSegments

KINDS = [OrderedPair, SegmentPair, SentencePair, SplitSegments]


@pytest.mark.parametrize("kind", KINDS)
def test_sequences_are_cls_a_sep_b_sep_in_the_layout_that_is_asked_for(kind, store):
    """The types of a pair are 0 and 1, whatever the id of [PAD]."""
    part = kind(max_length=40, num_separators=2, num_token_types=2)
    table = part.blocks(store, 0, 0)
    cls_id, sep_id = store.vocabulary.cls_id, store.vocabulary.sep_id

    pack = part.assemble(store, table, np.arange(table.num_blocks))

    for row in range(table.num_blocks):
        inside = slice(pack.borders[row], pack.borders[row + 1])
        first, second = table.lengths[row], table.second_lengths[row]
        text = store.gather(table.starts[row : row + 1], table.lengths[row : row + 1]).tolist()
        other = store.gather(table.second_starts[row : row + 1], table.second_lengths[row : row + 1]).tolist()
        tail = [sep_id, sep_id, *other, sep_id] if second else [sep_id]
        assert pack.input_ids[inside].tolist() == [cls_id, *text, *tail]
        types = [0] * (first + 3) + [1] * (second + 1) if second else [0] * (first + 2)
        assert pack.token_type_ids[inside].tolist() == types
        assert table.packed_lengths[row] == inside.stop - inside.start <= 40
    if table.pair_labels is not None:
        np.testing.assert_array_equal(pack.pair_labels, table.pair_labels)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{"shard_bytes": 150}, {"shard_bytes": 1}])
def test_any_number_of_shards_gives_the_same_blocks(kind, options, documents, write_store, store):
    """N shards are one concatenated file."""
    part = kind(max_length=40)
    many = write_store(documents, **options)

    assert equal_tables(part.blocks(many, 3, 1), part.blocks(store, 3, 1))
    assert sequences_of(part, many) == sequences_of(part, store)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_change_with_epoch_and_seed_and_with_nothing_else(kind, store):
    part = kind(max_length=40)

    first = part.blocks(store, 3, 1)

    assert part.changes_with_epoch
    assert equal_tables(first, part.blocks(store, 3, 1))
    assert not equal_tables(first, part.blocks(store, 3, 2))
    assert not equal_tables(first, part.blocks(store, 4, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_the_smallest_block_holds_a_token_of_each_segment(kind, store):
    least = 4 + kind().num_separators
    part = kind(max_length=least)

    table = part.blocks(store, 0, 0)

    assert table.packed_lengths.max() == least and table.lengths.min() == 1
    with pytest.raises(ConfigError, match=f"at least {least}"):
        kind(max_length=least - 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_without_sentence_borders_is_refused(kind, write_store):
    with pytest.raises(DataError, match=f"{kind.__name__}.*sentence borders"):
        kind(max_length=40).blocks(write_store([[[5] * 30], [[6] * 30]]), 0, 0)


@pytest.mark.parametrize(("kind", "option"), [
    (OrderedPair, "swapped_share"),
    (SentencePair, "random_share"),
    (SplitSegments, "single_segment_share"),
    (SplitSegments, "short_sequence_share"),
])  # fmt: skip
def test_shares_outside_0_to_1_are_refused(kind, option):
    with pytest.raises(ConfigError, match=option):
        kind(**{option: 1.2})


def test_parts_are_recorded_with_all_their_values_and_set_by_path():
    part = override(OrderedPair(), ["max_length=128", "short_sequence_share=0.1"])

    assert part == OrderedPair(max_length=128, short_sequence_share=0.1)
    assert from_record(to_record(part), [OrderedPair]) == part
    assert to_record(part).keys() >= {"max_length", "num_separators", "num_token_types", "swapped_share"}
