"""The cache changes nothing but speed."""

import re

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.data import cached_encoder
from spanwise.data.cached_encoder import CachedEncoder, WordTable
from spanwise.text.kinds.wordpiece import wordpiece_backend
from spanwise.text.tokenizers import Tokenizer

WORDS = re.compile(r"[^ !-/:-@\[-`{-~]+|[!-/:-@\[-`{-~]")


def numbered(table: WordTable, texts: list[str]) -> tuple[list[int], list[int]]:
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    numbers, word_ends = table.number(np.frombuffer(b"".join(encoded), dtype=np.uint8), ends)
    return numbers.tolist(), word_ends.tolist()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.text(st.characters(codec="utf-8") | st.sampled_from("ab .,~`{")), max_size=5), max_size=4))
def test_words_are_those_of_the_rule_and_equal_ones_share_a_number(calls):
    table, known = WordTable(), {}
    for texts in calls:
        numbers, ends = numbered(table, texts)
        split = [WORDS.findall(text) for text in texts]
        expected = [known.setdefault(word, len(known)) for words in split for word in words]
        assert numbers == expected and ends == np.cumsum([len(words) for words in split]).tolist()
    assert table.words(0) == list(known) and len(table) == len(known)
    assert table.num_bytes == sum(len(word.encode()) for word in known)


def test_a_table_grows_as_often_as_it_must_in_the_middle_of_a_text():
    table = WordTable()
    many = [f"낱말{number}" for number in range(40_000)]
    first, _ = numbered(table, ["x" * 100_000 + " " + " ".join(many)])
    again, ends = numbered(table, [" ".join(reversed(many)), "낱말7"])
    assert first == list(range(40_001)) and again == [*range(40_000, 0, -1), 8] and ends == [40_000, 40_001]
    assert table.words(39_999) == ["낱말39998", "낱말39999"]


def test_words_of_one_hash_stay_two_words(monkeypatch):
    plain = cached_encoder._number.py_func
    same_hash = dict.fromkeys(("_OFFSET", "_PRIME"), np.uint64(0))
    monkeypatch.setattr(cached_encoder, "_number", _with_globals(plain, same_hash))
    table = WordTable()
    assert numbered(table, ["ab ba ab c", "ba"])[0] == [0, 1, 0, 2, 1]
    assert table.words(0) == ["ab", "ba", "c"]


def _with_globals(function, changed):
    return type(function)(function.__code__, {**function.__globals__, **changed})


TEXT = st.text(
    st.characters(codec="utf-8")
    | st.sampled_from("Denvr İΣς.,!-'#[]=<> \t\n\x1c\x85\u00a0\u0301\u0338\u1100\u1161\u11a8\u3000")
)


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXT, max_size=6), st.sampled_from(["cased", "uncased", "stripped", "composing"]))
def test_ids_and_lengths_equal_those_of_whole_texts(tokenizer, texts, kind):
    if kind != "cased":
        vocabulary = {piece: number for number, piece in enumerate(tokenizer.tokens(range(tokenizer.vocab_size)))}
        form = "NFC" if kind == "composing" else "as_is"
        strip = kind == "stripped"
        tokenizer = Tokenizer(wordpiece_backend(vocabulary, lowercase=True, strip_accents=strip, unicode_form=form))
    assert tokenizer.splits_words
    encoder = CachedEncoder(tokenizer)
    for _ in range(2):
        ids, lengths = encoder.encode_flat(texts)
        expected, expected_lengths = tokenizer.encode_flat(texts)
        assert np.array_equal(ids, expected) and np.array_equal(lengths, expected_lengths)


@pytest.mark.parametrize("known", ["|~^`", "`", ""])
def test_words_that_are_learned_together_stay_apart(tokenizer, known, monkeypatch):
    pieces = [piece for piece in tokenizer.tokens(range(tokenizer.vocab_size)) if piece not in "|~^`"]
    vocabulary = {piece: number for number, piece in enumerate([*pieces, *known])}
    tokenizer = Tokenizer(wordpiece_backend(vocabulary, lowercase=False, strip_accents=False, unicode_form="as_is"))
    monkeypatch.setattr(cached_encoder, "_WORDS_A_TEXT", 3)
    texts = ["Denver|won ~~ the||game", "| a ` b ^", "\u0301 \x01 capital \ufffd", "|" * 7, "won " * 5 + "`"]

    ids, lengths = CachedEncoder(tokenizer).encode_flat(texts)

    expected, expected_lengths = tokenizer.encode_flat(texts)
    assert np.array_equal(ids, expected) and np.array_equal(lengths, expected_lengths)


def test_a_full_cache_forgets_and_stays_right(tokenizer, monkeypatch):
    monkeypatch.setattr(cached_encoder, "LARGEST_CACHE_WORDS", 10)
    encoder = CachedEncoder(tokenizer)
    for number in range(50):
        texts = [f"Denver {number}x is the capital{number} of", "Colorado"]
        assert np.array_equal(encoder.encode_flat(texts)[0], tokenizer.encode_flat(texts)[0])
        assert len(encoder._words) <= 20


def test_a_tokenizer_that_looks_past_words_gets_whole_texts(tokenizer):
    backend = tokenizers.Tokenizer.from_str(tokenizer._backend.to_str())
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    looking = Tokenizer(backend)
    assert not looking.splits_words
    ids, lengths = CachedEncoder(looking).encode_flat(["the capital", ""])
    assert np.array_equal(ids, looking.encode_flat(["the capital", ""])[0]) and lengths[1] == 0


def test_a_plain_added_token_may_hold_a_space(tokenizer):
    backend = tokenizers.Tokenizer.from_str(tokenizer._backend.to_str())
    backend.add_tokens(["New York"])
    assert not Tokenizer(backend).splits_words


@pytest.mark.parametrize("texts", [[], [""], ["", " ", "  "]])
def test_nothing_gives_nothing(tokenizer, texts):
    ids, lengths = CachedEncoder(tokenizer).encode_flat(texts)
    assert ids.size == 0 and lengths.tolist() == [0] * len(texts)
