"""Byte-level BPE has RoBERTa's ids and loses no byte."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import CheckpointError, ConfigError
from spanwise.text.corpus import Document
from spanwise.text.kinds.byte_bpe import SMALLEST_VOCABULARY
from spanwise.text.learn import learn_tokenizer
from spanwise.text.tokenizers import Tokenizer


@pytest.fixture(scope="module")
def byte_bpe(learned):
    return learned("byte-bpe", "as_is")


def test_special_ids_are_those_of_roberta(byte_bpe):
    assert byte_bpe.tokens(range(4)) == ["<s>", "<pad>", "</s>", "<unk>"]
    assert byte_bpe.tokens([byte_bpe.vocab_size - 1]) == ["<mask>"]
    assert (byte_bpe.cls_id, byte_bpe.pad_id, byte_bpe.sep_id, byte_bpe.unk_id) == (0, 1, 2, 3)
    assert byte_bpe.special_ids == {0, 1, 2, 3, byte_bpe.mask_id}


@settings(max_examples=100, deadline=None)
@given(text=st.text(st.characters(codec="utf-8")))
def test_every_text_comes_back_and_nothing_is_unknown(byte_bpe, text):
    ids = byte_bpe.encode(text).ids
    assert byte_bpe.unk_id not in ids
    assert byte_bpe.decode(ids) == text


def test_the_first_word_of_a_text_is_a_word_and_line_feeds_end_one(byte_bpe):
    text = "Banan won\nBanan won (Banan) 24"
    found = byte_bpe.encode(text)
    words = [found.offsets[found.word_ids == word] for word in range(found.word_ids.max() + 1)]
    texts = [text[part.min() : part.max()].strip() for part in words]
    assert [word for word in texts if word] == ["Banan", "won", "Banan", "won", "(", "Banan", ")", "24"]


def test_a_word_is_written_otherwise_behind_a_blank(byte_bpe, learned):
    assert byte_bpe.needs_blank and not learned("wordpiece").needs_blank and not learned("unigram").needs_blank
    assert byte_bpe.encode("won").ids.tolist() != byte_bpe.encode(" won").ids.tolist()
    assert byte_bpe.encode(" won").offsets.tolist()[0][0] == 1


def test_a_vocabulary_smaller_than_the_bytes_is_refused():
    with pytest.raises(ConfigError, match=f"at least {SMALLEST_VOCABULARY}"):
        learn_tokenizer([Document("here", 1, ["a"])], vocab_size=200, kind="byte-bpe")


def test_vocabulary_and_merges_alone_are_the_same_tokenizer(byte_bpe, tmp_path):
    byte_bpe.save(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    assert Tokenizer.load(tmp_path).sha256 == byte_bpe.sha256
    (tmp_path / "tokenizer_config.json").unlink()
    assert Tokenizer.load(tmp_path).sha256 == byte_bpe.sha256
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b c\n")
    with pytest.raises(CheckpointError, match=r"merges\.txt: 'a b c' is no pair"):
        Tokenizer.load(tmp_path)
    (tmp_path / "merges.txt").write_text("#version: 0.2\nqqq zzz\n")
    with pytest.raises(CheckpointError, match="do not fit each other"):
        Tokenizer.load(tmp_path)
    (tmp_path / "vocab.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"vocab\.json or merges\.txt cannot be read"):
        Tokenizer.load(tmp_path)
