"""What is shown of a format is what training reads."""

from __future__ import annotations

import numpy as np
import pytest

from spanwise.data.order import permutation
from spanwise.errors import ConfigError
from spanwise.pretraining.formats import FORMATS, FullSentences, OrderedPair, SentencePair, SingleSegment
from spanwise.pretraining.formats.examples import find_format, format_examples


@pytest.mark.parametrize("kind", FORMATS)
def test_examples_of_every_format_are_its_blocks_in_training_order(kind, tiny_store):
    part = kind(max_length=32)
    words = tiny_store.tokenizer()
    table = part.blocks(tiny_store, 3, 1)
    rows = permutation(3, 1, table.num_blocks)[:5]
    pack = part.assemble(tiny_store, table, rows)

    found = format_examples(tiny_store, part, words, count=5, seed=3, epoch=1)

    assert [example.block for example in found.examples] == rows.tolist()
    for example, first, last in zip(found.examples, pack.borders, pack.borders[1:], strict=False):
        assert example.tokens == words.tokens(pack.input_ids[first:last])
        assert sum(stretch.num_tokens for stretch in example.stretches) == last - first
    assert (found.num_blocks, found.longest) == (table.num_blocks, table.packed_lengths.max())
    assert found.num_tokens_dropped == table.num_tokens_dropped


def test_stretches_tell_text_from_special_tokens_and_number_the_segments(tiny_store):
    words = tiny_store.tokenizer()
    found = format_examples(tiny_store, FullSentences(max_length=200), words, count=2)

    stretches = found.examples[0].stretches

    assert [stretch.is_special for stretch in stretches] == [True, False] * (len(stretches) // 2) + [True]
    assert stretches[0].text == "[CLS]" and stretches[-1].text == "[SEP]"
    assert [stretch.segment for stretch in stretches if not stretch.is_special] == list(range(len(stretches) // 2))
    assert stretches[1].text in words.decode(np.concatenate([tiny_store.gather([0], [tiny_store.num_tokens])]))


def test_labels_have_names_and_are_counted(tiny_store):
    words = tiny_store.tokenizer()

    nsp = format_examples(tiny_store, SentencePair(max_length=40), words, count=20)
    sop = format_examples(tiny_store, OrderedPair(max_length=40), words, count=20)
    none = format_examples(tiny_store, SingleSegment(max_length=40), words, count=1)

    assert nsp.labels.keys() == {"next", "random"} and sum(nsp.labels.values()) == nsp.num_blocks
    assert sop.labels.keys() == {"in order", "swapped", "no label"}
    assert {(example.label, example.label_name) for example in nsp.examples} == {(0, "next"), (1, "random")}
    assert none.labels == {} and none.examples[0].label is None


def test_formats_are_found_by_their_names_and_others_are_answered_by_the_nearest():
    assert find_format("sentence-pair") is find_format("sentence_pair") is find_format("SentencePair") is SentencePair
    with pytest.raises(ConfigError, match=r"no format 'sentense-pair'.*sentence-pair"):
        find_format("sentense-pair")
