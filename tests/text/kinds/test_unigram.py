"""ALBERT's unigram pieces: lower-cased, special ids first, and never found in user text."""

import pytest

from spanwise.errors import DataError
from spanwise.text.corpus import Document
from spanwise.text.learn import learn_tokenizer


def test_special_ids_are_those_of_albert_and_text_is_lower_cased(learned):
    unigram = learned("unigram", "as_is")
    assert unigram.tokens(range(5)) == ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    assert not unigram.is_cased
    assert unigram.encode("BANAN").ids.tolist() == unigram.encode("banan").ids.tolist()
    assert unigram.encode("``café''").ids.tolist() == unigram.encode('"cafe"').ids.tolist()


def test_a_piece_that_begins_a_word_has_the_mark_of_its_blank(learned):
    unigram = learned("unigram")
    found = unigram.encode("the banansorin won")
    pieces = unigram.tokens(found.ids)
    assert [piece[0] == "▁" for piece in pieces] == [True, *(found.word_ids[1:] > found.word_ids[:-1]).tolist()]


def test_cased_and_reserved_pieces_and_a_text_too_small_for_the_size():
    documents = [Document("here", 1, ["The cat sat. The CAT sat!"] * 9)]
    found = learn_tokenizer(documents, vocab_size=300, kind="unigram", cased=True, num_unused=2)
    assert found.is_cased and found.vocab_size < 300
    assert found.tokens([5, 6]) == ["[unused0]", "[unused1]"] and {5, 6} < found.special_ids
    assert found.encode("CAT").ids.tolist() != found.encode("cat").ids.tolist()


def test_words_with_a_character_outside_the_alphabet_teach_nothing():
    documents = [Document("here", 1, ["aaaa bbbb aabb", "aac"])]
    found = learn_tokenizer(documents, vocab_size=64, kind="unigram", alphabet_size=2)
    assert found.unk_id in found.encode("c").ids and found.unk_id not in found.encode("ab").ids
    with pytest.raises(DataError, match="no word is made of its alphabet"):
        learn_tokenizer([Document("here", 1, ["ab"])], vocab_size=64, kind="unigram", alphabet_size=1)
