"""Tags of tokens travel with their tokens into packs; morphemes become words where the recipe says so."""

from dataclasses import replace

import numpy as np
import pytest
from toy_packs import with_parts

from spanwise import recipes
from spanwise.data.store_writer import TokenStoreWriter
from spanwise.data.token_store import TokenStore
from spanwise.errors import DataError
from spanwise.pretraining.collate import Collator
from spanwise.pretraining.formats import FORMATS, SingleSegment
from spanwise.pretraining.formats.side_arrays import check_side_arrays, side_arrays_of, with_side_arrays
from spanwise.pretraining.masking import GeometricSpans, Replacement, WholeWords
from spanwise.pretraining.objectives import MaskedLM
from spanwise.pretraining.system import check_inputs

ROWS = np.array([4, 1, 20])


class ReadsTags(WholeWords):
    """A scheme that asks for a side array of its own."""

    side_arrays = ("tags",)


@pytest.fixture(scope="module")
def tagged(tokenizer, documents, tmp_path_factory) -> TokenStore:
    """The documents with two side arrays: the ids' low bytes, and a morpheme at every third token."""
    folder = tmp_path_factory.mktemp("tagged") / "store"
    with TokenStoreWriter(folder, tokenizer, side_arrays={"tags": "a test", "morphemes": "a test"}) as writer:
        for document in documents:
            ids = np.concatenate(document)
            writer.add_document(document, {"tags": ids, "morphemes": np.arange(len(ids)) % 3 == 0})
    return TokenStore.open(folder)


def collator_of(store, **options) -> Collator:
    parts = dict(format=SingleSegment(max_length=32), masking=GeometricSpans(), replacement=Replacement(), seed=1)
    return with_parts(Collator, store, objectives={"mlm": MaskedLM()}, **{**parts, **options})


def test_each_token_has_its_own_tag_and_specials_have_none(tagged):
    collator = collator_of(tagged, masking=ReadsTags())
    pack = collator.masked(collator.format.blocks(tagged), ROWS, 0).pack
    assert set(pack.side) == {"tags"} and pack.side["tags"].dtype == np.uint8
    assert np.array_equal(pack.side["tags"], np.where(pack.maskable, pack.input_ids, 0))


@pytest.mark.parametrize("part", FORMATS)
def test_tags_follow_their_tokens_through_every_format(part, tagged):
    format = part(max_length=32)
    table = format.blocks(tagged, 0, 0)
    rows = np.arange(min(20, table.num_blocks))
    pack = with_side_arrays(format.assemble(tagged, table, rows), tagged, table, rows, ("tags",), "word")
    assert np.array_equal(pack.side["tags"], np.where(pack.maskable, pack.input_ids, 0))


def test_with_morphemes_words_start_at_each_and_where_they_did(tagged):
    table = SingleSegment(max_length=32).blocks(tagged)
    plain = SingleSegment(max_length=32).assemble(tagged, table, ROWS)
    pack = with_side_arrays(plain, tagged, table, ROWS, ("morphemes",), "morpheme")
    assert np.array_equal(pack.starts_word, plain.starts_word | (pack.side["morphemes"] > 0))
    assert pack.starts_word.sum() > plain.starts_word.sum()
    assert np.array_equal(pack.input_ids, plain.input_ids)


def test_spans_are_made_of_whole_morphemes(tagged):
    collator = collator_of(tagged, word_unit="morpheme")
    masked = collator.masked(collator.format.blocks(tagged), np.arange(30), 0)
    starts = masked.pack.starts_word
    assert starts[masked.spans.start].all()
    inside = masked.spans.end[masked.pack.maskable[masked.spans.end]]
    assert starts[inside].all() and len(inside) > 10
    words = collator_of(tagged).masked(collator.format.blocks(tagged), np.arange(30), 0)
    assert not words.pack.side and not np.array_equal(words.spans.start, masked.spans.start)


def test_a_store_without_what_the_recipe_asks_for_is_refused_with_the_cure(store, tagged):
    assert side_arrays_of(ReadsTags(), "morpheme") == ("tags", "morphemes")
    assert side_arrays_of(GeometricSpans(), "word") == ()
    check_side_arrays(tagged, ("tags", "morphemes"))
    with pytest.raises(DataError, match=r"side array 'morphemes'.*has none.*`spanwise prepare --tag morphemes`"):
        collator_of(store, word_unit="morpheme")
    recipe = replace(recipes.spanbert_tiny(), word_unit="morpheme")
    with pytest.raises(DataError, match="prepare --tag morphemes"):
        check_inputs(recipe, store)
    check_inputs(recipe, tagged)


def test_a_table_that_does_not_tell_where_its_text_lies_is_refused(tagged):
    table = SingleSegment(max_length=32).blocks(tagged)
    pack = SingleSegment(max_length=32).assemble(tagged, table, ROWS)
    with pytest.raises(DataError, match="no tags can be laid"):
        with_side_arrays(pack, tagged, replace(table, lengths=table.lengths + 1), ROWS, ("tags",), "word")
