"""Text to ids and back: safe for any text, exact offsets, equal to what others read from the same folder."""

import json

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers, trainers

from spanwise.errors import CheckpointError, DataError
from spanwise.text.kinds.wordpiece import wordpiece_backend
from spanwise.text.tokenizers import Tokenizer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
HOSTILE = "[CLS] a [MASK] b[SEP] [PAD][UNK] [unused1] [MASK][MASK] ##a"


def folders(tokenizer, tmp_path):
    """The same tokenizer as each kind of folder there is."""
    whole = tmp_path / "whole"
    tokenizer.save(whole)
    for name, files in (("json", ["tokenizer.json"]), ("vocabulary", ["vocab.txt"])):
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / file).write_bytes((whole / file).read_bytes())
    return [whole, tmp_path / "json", tmp_path / "vocabulary"]


def test_user_text_never_becomes_a_special_id_after_any_way_of_loading(tokenizer, tmp_path):
    loaded = [Tokenizer.load(folder) for folder in folders(tokenizer, tmp_path)]
    for each in [tokenizer, *loaded]:
        flat, _ = each.encode_flat([HOSTILE])
        assert not set(each.encode(HOSTILE).ids.tolist()) & (each.special_ids - {each.unk_id})
        assert not set(flat.tolist()) & (each.special_ids - {each.unk_id})


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec="utf-8")) | st.text(st.sampled_from("[]MASKCLSEP#unused1 ")))
def test_any_text_gives_ordered_offsets_inside_it_and_no_special_id(tokenizer, text):
    found = tokenizer.encode(text)
    assert not set(found.ids.tolist()) & (tokenizer.special_ids - {tokenizer.unk_id})
    assert len(found.ids) == len(found.offsets) == len(found.word_ids)
    assert (found.offsets >= 0).all() and (found.offsets <= len(text)).all()
    assert (found.offsets[:, 0] <= found.offsets[:, 1]).all() and (np.diff(found.offsets[:, 0]) >= 0).all()
    assert np.array_equal(tokenizer.encode_flat([text])[0], found.ids)


def test_offsets_are_characters_of_the_text_as_given(tokenizer):
    text = "  🙂 Denver\x00, 한국어!"
    found = tokenizer.encode(text)
    pieces = [text[start:end] for start, end in found.offsets]
    assert "".join(pieces).replace("\x00", "") == "🙂Denver,한국어!"


def test_word_ids_agree_with_the_library(tokenizer):
    text = "Denver's team won, 한국어 문장은 won."
    expected = tokenizer._backend.encode(text, add_special_tokens=False).word_ids
    assert tokenizer.encode(text).word_ids.tolist() == expected


def test_half_a_surrogate_pair_is_a_data_error_that_says_where(tokenizer):
    for call in (tokenizer.encode, lambda text: tokenizer.encode_batch(["fine", text])):
        with pytest.raises(DataError, match=r"U\+D800\) at character 2"):
            call("ab\ud800c")
    with pytest.raises(TypeError, match="text is a int"):
        tokenizer.encode(3)


def test_control_characters_vanish_and_empty_text_is_no_tokens(tokenizer):
    assert np.array_equal(tokenizer.encode("Den\x00ver\x07").ids, tokenizer.encode("Denver").ids)
    assert tokenizer.encode("").ids.shape == (0,) and tokenizer.encode("").offsets.shape == (0, 2)
    flat, lengths = tokenizer.encode_flat(["", "Denver", " "])
    assert lengths[0] == lengths[2] == 0 and lengths[1] == len(flat)


def test_decoding_gives_the_words_back(tokenizer):
    assert tokenizer.decode(tokenizer.encode("the team of Denver won").ids) == "the team of Denver won"
    assert tokenizer.tokens([0, 4]) == ["[PAD]", "[MASK]"]
    with pytest.raises(DataError, match="id 999999 is outside"):
        tokenizer.tokens([999_999])


def test_case_is_kept(tokenizer):
    assert tokenizer.is_cased
    assert tokenizer.encode("US").ids.tolist() != tokenizer.encode("us").ids.tolist()


def test_the_hash_survives_every_way_of_saving(tokenizer, tmp_path):
    for folder in folders(tokenizer, tmp_path):
        assert Tokenizer.load(folder).sha256 == tokenizer.sha256


def test_the_hash_changes_with_anything_that_changes_ids():
    words = [*SPECIALS, "a", "b", "##b"]
    swapped = [*SPECIALS, "b", "a", "##b"]

    def hashed(pieces, lowercase=False, chinese=True):
        vocabulary = {piece: number for number, piece in enumerate(pieces)}
        backend = wordpiece_backend(vocabulary, lowercase=lowercase, strip_accents=False, chinese_characters=chinese)
        return Tokenizer(backend).sha256

    hashes = [hashed(words), hashed(swapped), hashed([*words, "c"]), hashed(words, True), hashed(words, False, False)]
    assert len(set(hashes)) == len(hashes) and hashed(words) == hashes[0]


def test_truncation_and_padding_of_other_peoples_files_are_switched_off(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    other = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    other.enable_truncation(4)
    other.enable_padding(length=4)
    other.save(str(tmp_path / "tokenizer.json"))
    loaded = Tokenizer.load(tmp_path)
    assert len(loaded.encode("the team of Denver won").ids) == 5 and len(loaded.encode("the").ids) == 1
    assert loaded.sha256 == tokenizer.sha256


def test_reserved_pieces_count_as_special():
    pieces = [*SPECIALS, "[unused0]", "a"]
    backend = wordpiece_backend({piece: n for n, piece in enumerate(pieces)}, lowercase=False, strip_accents=False)
    assert Tokenizer(backend).special_ids == {0, 1, 2, 3, 4, 5}


def test_a_vocabulary_without_a_special_token_is_refused():
    backend = wordpiece_backend({"[UNK]": 0, "[CLS]": 1, "a": 2}, lowercase=False, strip_accents=False)
    with pytest.raises(CheckpointError, match=r"has no \[PAD\], \[SEP\], \[MASK\]"):
        Tokenizer(backend)


def trained_backend(kind):
    """A small tokenizer of another kind than BERT's, by the library's own trainers."""
    text: list = ["Denver is the capital of Colorado , and the US Mint is there ."] * 20
    if kind == "byte-level BPE":
        backend = tokenizers.Tokenizer(models.BPE(unk_token="[UNK]"))
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        trainer = trainers.BpeTrainer(
            vocab_size=275, special_tokens=SPECIALS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
        )
    elif kind == "SentencePiece":
        backend = tokenizers.Tokenizer(models.Unigram())
        backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace()])
        trainer = trainers.UnigramTrainer(vocab_size=60, special_tokens=SPECIALS, unk_token="[UNK]")
    elif kind == "Gemma's BPE":
        backend = tokenizers.Tokenizer(models.BPE(byte_fallback=True, unk_token="[UNK]"))
        backend.normalizer = normalizers.Replace(" ", "\u2581")
        backend.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
        text = [line.replace(" ", " \u2581").split() for line in text]  # so that no piece is of two words
        byte_pieces = [f"<0x{byte:02X}>" for byte in range(256)]
        trainer = trainers.BpeTrainer(vocab_size=310, special_tokens=SPECIALS)
        backend.train_from_iterator(text, trainer)
        record = json.loads(backend.to_str())
        vocabulary = record["model"]["vocab"]
        vocabulary |= {piece: len(vocabulary) + place for place, piece in enumerate(byte_pieces)}
        return tokenizers.Tokenizer.from_str(json.dumps(record))
    else:
        backend = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]", continuing_subword_prefix="@@"))
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=50, special_tokens=SPECIALS, continuing_subword_prefix="@@")
    backend.train_from_iterator(text, trainer)
    return backend


@pytest.mark.parametrize("kind", ["byte-level BPE", "SentencePiece", "Gemma's BPE", "WordPiece with @@"])
def test_words_of_other_kinds_of_tokenizers_are_words_too(kind):
    """`##` is BERT's mark; told by it alone, every piece of other tokenizers would be a word."""
    tokenizer = Tokenizer(trained_backend(kind))
    found = tokenizer.encode("Denver is the capitals, there.")
    words = [found.offsets[found.word_ids == word] for word in range(found.word_ids.max() + 1)]
    texts = ["Denver is the capitals, there."[part.min() : part.max()].strip() for part in words]
    assert [text for text in texts if text] == ["Denver", "is", "the", "capitals", ",", "there", "."]
    assert len(found.ids) > len(words)
    assert "".join(tokenizer.texts[number] for number in found.ids) == "Denveristhecapitals,there."


def test_a_mark_that_the_normaliser_writes_is_a_blank():
    """mmBERT's tokenizer.json: `▁` comes from the normaliser, and nothing puts one before a text."""
    tokenizer = Tokenizer(trained_backend("Gemma's BPE"))
    found = tokenizer.encode("the capitals 한")
    assert tokenizer.tokens(found.ids)[-4:] == ["\u2581", "<0xED>", "<0x95>", "<0x9C>"]
    assert found.word_ids[-4:].tolist() == [2] * 4 and len(found.ids) > 6
    assert tokenizer.needs_blank and not Tokenizer(trained_backend("SentencePiece")).needs_blank

    backend = trained_backend("Gemma's BPE")
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    assert not Tokenizer(backend).needs_blank


def test_texts_of_specials_are_empty_and_those_of_parts_of_characters_too():
    backend = trained_backend("byte-level BPE")
    tokenizer = Tokenizer(backend)
    texts = [tokenizer.texts[number] for number in tokenizer.encode("é\n").ids]
    assert texts == ["", "", "", "\n"]  # the blank that the tokenizer puts first, two bytes, a line feed
    assert all(tokenizer.texts[number] == "" for number in tokenizer.special_ids)
