"""Full sentences fill every block, mark where documents meet, and hold every token of the store once."""

from __future__ import annotations

import numpy as np
import pytest
from toy_blocks import cut, sequences_of, visits_of

from spanwise.errors import ConfigError
from spanwise.pretraining.formats import FullSentences


def plain_sequences(documents, max_length: int, vocabulary) -> list[list[int]]:
    """The rule of the paper with lists."""
    may_start = vocabulary.starts_word | vocabulary.is_special
    sequences, pending = [], []
    for document in documents:
        begins = True
        for sentence in document:
            for piece in cut(sentence, max_length - 2, may_start):
                joint = [vocabulary.sep_id] if begins and pending else []
                if pending and len(pending) + len(joint) + len(piece) > max_length - 2:
                    sequences.append(pending)
                    pending, joint = [], []
                pending = pending + joint + piece
                begins = False
    return [[vocabulary.cls_id, *text, vocabulary.sep_id] for text in [*sequences, pending]]


@pytest.mark.parametrize("max_length", [3, 4, 12, 41, 64, 512])
@pytest.mark.parametrize("options", [{}, {"shard_bytes": 200}])
def test_blocks_are_those_of_the_written_rule(max_length, options, documents, write_store):
    """Every token once, long sentences cut, any number of shards."""
    store = write_store(documents, **options)
    part = FullSentences(max_length=max_length)
    table = part.blocks(store)

    found = sequences_of(part, store, table)

    assert found == plain_sequences(documents, max_length, store.vocabulary)
    assert table.packed_lengths.tolist() == [len(sequence) for sequence in found]
    assert table.packed_lengths.max() <= max_length
    assert (visits_of(store, table) == 1).all()


def test_only_the_last_block_is_short_for_want_of_text(write_store):
    """The documents are much shorter than a block; single segments would leave half of it unused."""
    store = write_store([[[5] * 7] for _ in range(40)])

    lengths = FullSentences(max_length=32).blocks(store).packed_lengths

    assert set(lengths[:-1]) == {2 + 3 * 7 + 2} and len(lengths) == 14  # a fourth sentence would pass 32


def test_a_document_that_ends_with_its_block_leaves_no_separator(write_store):
    store = write_store([[[5] * 6], [[6] * 3]])

    assert sequences_of(FullSentences(max_length=8), store) == [[2, *[5] * 6, 3], [2, 6, 6, 6, 3]]


def test_the_blocks_of_a_pack_may_come_in_any_order(store):
    part = FullSentences(max_length=64)
    table = part.blocks(store)
    sequences = sequences_of(part, store, table)

    pack = part.assemble(store, table, np.array([3, 0, 3]))

    assert [ids.tolist() for ids in np.split(pack.input_ids, pack.borders[1:-1])] == [sequences[i] for i in (3, 0, 3)]


def test_separators_are_never_masked(store):
    part = FullSentences(max_length=64)
    table = part.blocks(store)

    pack = part.assemble(store, table, np.arange(table.num_blocks))

    assert table.num_special.max() > 2
    np.testing.assert_array_equal(pack.maskable, ~store.vocabulary.is_special[pack.input_ids])


def test_no_room_for_text_is_refused():
    with pytest.raises(ConfigError, match="at least 3"):
        FullSentences(max_length=2)
