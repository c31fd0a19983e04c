"""Single segments hold whole sentences of one document, and every token of the store once."""

from __future__ import annotations

import numpy as np
import pytest
from toy_blocks import cut, sequences_of

from spanwise.config import from_record, to_record
from spanwise.errors import ConfigError
from spanwise.pretraining.formats import DocSentences, SingleSegment


def plain_blocks(documents, room: int, starts_word) -> list[list[int]]:
    """The rule of the released code with lists; over-long sentences are cut before a word where there is one."""
    blocks = []
    for document in documents:
        pending: list[int] = []
        for sentence in document:
            for piece in cut(sentence, room, starts_word):
                if pending and len(pending) + len(piece) > room:
                    blocks.append(pending)
                    pending = []
                pending = pending + piece
        if pending:
            blocks.append(pending)
    return blocks


@pytest.mark.parametrize("max_length", [3, 4, 12, 30, 64, 512])
@pytest.mark.parametrize("options", [{}, {"shard_bytes": 200}])
def test_blocks_are_those_of_the_written_rule(max_length, options, documents, write_store):
    """Nothing dropped, long sentences split, documents never crossed, any number of shards."""
    store = write_store(documents, **options)
    part = SingleSegment(max_length=max_length)

    table = part.blocks(store)

    vocabulary = store.vocabulary
    expected = plain_blocks(documents, max_length - 2, vocabulary.starts_word | vocabulary.is_special)
    text = store.gather(table.starts, table.lengths)
    found = [block.tolist() for block in np.split(text, np.cumsum(table.lengths)[:-1])]
    assert found == expected
    assert table.lengths.sum() == store.num_tokens
    assert table.lengths.max() <= max_length - 2
    assert table.num_tokens_dropped == table.num_tokens_repeated == 0


def test_blocks_are_the_same_in_every_epoch(store):
    part = SingleSegment(max_length=32)

    first, later = part.blocks(store, seed=1, epoch=0), part.blocks(store, seed=2, epoch=9)

    assert not part.changes_with_epoch
    np.testing.assert_array_equal(first.starts, later.starts)


def test_a_pack_is_cls_block_sep_for_each_row(store):
    part = SingleSegment(max_length=32)
    table = part.blocks(store)
    vocabulary = store.vocabulary
    rows = np.array([5, 0, 17])

    pack = part.assemble(store, table, rows)

    assert pack.block_ids.tolist() == [5, 0, 17]
    assert not pack.token_type_ids.any()
    for s, row in enumerate(rows):
        ids = pack.input_ids[pack.borders[s] : pack.borders[s + 1]]
        text = store.gather(table.starts[row : row + 1], table.lengths[row : row + 1])
        assert ids.tolist() == [vocabulary.cls_id, *text.tolist(), vocabulary.sep_id]
        maskable = pack.maskable[pack.borders[s] : pack.borders[s + 1]]
        assert maskable.tolist() == [False, *[True] * len(text), False]
        starts = pack.starts_word[pack.borders[s] : pack.borders[s + 1]]
        assert starts.tolist() == [False, True, *vocabulary.starts_word[text[1:]].tolist(), False]


def test_unknown_words_are_words_and_foreign_specials_are_not(write_store, tokenizer):
    """[UNK] is hidden like other words; a special that a foreign store holds never is."""
    word = next(i for i in range(5, tokenizer.vocab_size) if tokenizer.starts_word_table()[i])
    store = write_store([[[word, tokenizer.unk_id, word, tokenizer.sep_id, word]]])
    part = SingleSegment(max_length=16)

    pack = part.assemble(store, part.blocks(store), np.array([0]))

    assert pack.maskable.tolist() == [False, True, True, True, False, True, False]
    assert pack.starts_word.tolist() == [False, True, True, True, False, True, False]


def test_no_room_for_text_is_refused():
    with pytest.raises(ConfigError, match="at least 3"):
        SingleSegment(max_length=2)


def test_doc_sentences_are_the_blocks_of_single_segments(store):
    assert sequences_of(DocSentences(max_length=32), store) == sequences_of(SingleSegment(max_length=32), store)


def test_a_record_keeps_the_name_of_the_paper():
    record = to_record(DocSentences(max_length=32))

    assert record == {"part": "doc_sentences", "max_length": 32}
    assert from_record(record, [DocSentences]) == DocSentences(max_length=32)
