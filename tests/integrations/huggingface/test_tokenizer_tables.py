"""One table of word starts and specials for every kind of fast tokenizer."""

import numpy as np
import pytest

from spanwise.errors import ConfigError
from spanwise.integrations.huggingface.tokenizer_tables import vocabulary_of
from spanwise.text.learn import learn_tokenizer


def test_every_role_and_special_of_every_kind_is_known(tokenizer):
    vocabulary = vocabulary_of(tokenizer)

    assert vocabulary.size == len(tokenizer)
    assert vocabulary.pad_id == tokenizer.pad_token_id
    assert vocabulary.mask_id == tokenizer.mask_token_id
    assert vocabulary.is_special[tokenizer.all_special_ids].all()
    words = vocabulary.is_special.copy()
    words[max(vocabulary.unk_id, 0)] = False
    assert not vocabulary.starts_word[words].any()


def test_words_begin_where_a_person_sees_them_begin(tokenizer):
    vocabulary = vocabulary_of(tokenizer)
    ids = np.array(tokenizer(" past a stone bridge, and", add_special_tokens=False)["input_ids"])

    starts = np.flatnonzero(vocabulary.starts_word[ids])
    words = [tokenizer.decode(part).strip() for part in np.split(ids, starts[1:])]

    assert starts[0] == 0
    assert [word for word in words if word] == ["past", "a", "stone", "bridge", ",", "and"]


def test_an_unknown_token_that_ends_texts_is_no_word(tokenizers_of):
    gpt2 = vocabulary_of(tokenizers_of("gpt2"))
    bert = vocabulary_of(tokenizers_of("bert"))

    assert gpt2.unk_id == -1 and not gpt2.starts_word[tokenizers_of("gpt2").eos_token_id]
    assert bert.starts_word[bert.unk_id] and bert.is_special[bert.unk_id]


def test_an_added_token_that_is_no_special_is_a_word(tokenizers_of):
    tokenizer = tokenizers_of("modernbert")
    vocabulary = vocabulary_of(tokenizer)
    added = tokenizer.convert_tokens_to_ids("|||IP_ADDRESS|||")

    assert vocabulary.starts_word[added] and not vocabulary.is_special[added]


def test_our_own_tokenizer_gives_the_tables_of_its_store(tiny_store):
    own = tiny_store.tokenizer()
    counts = tiny_store.vocabulary.unigram_counts

    vocabulary = vocabulary_of(own, counts)

    for name in ("size", "pad_id", "unk_id", "cls_id", "sep_id", "mask_id"):
        assert getattr(vocabulary, name) == getattr(tiny_store.vocabulary, name)
    for name in ("is_special", "starts_word", "unigram_counts"):
        np.testing.assert_array_equal(getattr(vocabulary, name), getattr(tiny_store.vocabulary, name))
    assert vocabulary.texts() == own.texts


def test_what_is_no_fast_tokenizer_is_refused():
    with pytest.raises(ConfigError, match="str is no fast tokenizer"):
        vocabulary_of("bert-base-cased")


@pytest.mark.parametrize("counts", [[1, 2, 3], np.ones(500), -np.ones(500, dtype=int)])
def test_counts_of_another_vocabulary_are_refused(numbered, counts):
    with pytest.raises(ConfigError, match="unigram_counts must be 500 whole numbers"):
        vocabulary_of(numbered, counts)


def test_reserved_pieces_are_specials(tiny_text):
    tokenizer = learn_tokenizer(tiny_text, vocab_size=300, num_unused=3)

    assert vocabulary_of(tokenizer).is_special[tokenizer.token_to_id("[unused1]")]
