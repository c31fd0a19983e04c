"""What each piece is to a recurring span: counted in the text for any language, or by a list for English."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import numpy as np
import pytest
from real_text import real_pack

from spanwise.errors import ConfigError
from spanwise.pretraining.masking.clusters import BREAKS, STOPS, TELLS
from spanwise.pretraining.masking.stop_words import ENGLISH, kinds_of_pieces


def texts_of(vocabulary, kinds, kind) -> set[str]:
    """The texts of pieces that start words and are of one kind."""
    texts = vocabulary.texts()
    return {texts[number] for number in np.flatnonzero((kinds == kind) & vocabulary.starts_word)}


def test_frequent_words_stop_in_any_language():
    for language, stops, tells in (
        ("en", {"the", "of", "and", "was", "The", "with"}, {"river", "London", "music", "1954"}),
        ("ko", {"있다", "있는", "모든"}, {"음악", "독일"}),
    ):
        _, _, vocabulary = real_pack(language)
        kinds = kinds_of_pieces(vocabulary, "counted", 0.001)
        assert stops <= texts_of(vocabulary, kinds, STOPS), language
        assert tells & set(vocabulary.texts()) <= texts_of(vocabulary, kinds, TELLS), language
        assert (kinds_of_pieces(vocabulary, "counted", 1.0) != STOPS).all()


def test_both_cases_of_a_word_are_counted_together():
    """Most of its occurrences begin no sentence, so a word with a capital is rarer than the share."""
    _, tokenizer, vocabulary = real_pack("en")
    kinds = kinds_of_pieces(vocabulary, "counted", 0.001)
    number = tokenizer.token_to_id("But")
    total = vocabulary.unigram_counts.sum()
    assert vocabulary.unigram_counts[number] < 0.001 * total < vocabulary.unigram_counts[tokenizer.token_to_id("but")]
    assert kinds[number] == STOPS


def test_the_english_list_has_words_and_no_parts_of_words():
    _, _, vocabulary = real_pack("en")
    kinds = kinds_of_pieces(vocabulary, "english", 0.001)
    assert 100 <= len(ENGLISH) <= 200
    assert {"the", "The", "of", "which", "would"} <= texts_of(vocabulary, kinds, STOPS)
    assert {"first", "new", "war"} <= texts_of(vocabulary, kinds, TELLS)  # frequent, and not of the list
    with pytest.raises(ConfigError, match="stop_words 'english' needs the texts"):
        kinds_of_pieces(replace(vocabulary, texts=tuple), "english", 0.001)


def test_punctuation_specials_and_the_unknown_break_a_span():
    _, tokenizer, vocabulary = real_pack("en")
    kinds = kinds_of_pieces(vocabulary, "counted", 0.001)
    for piece in (",", ".", "(", "-", "°", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PAD]"):
        assert kinds[tokenizer.token_to_id(piece)] == BREAKS, piece
    texts = [text for text, kind in zip(vocabulary.texts(), kinds, strict=True) if kind != BREAKS]
    assert all(text.isalnum() or unicodedata.category(text).startswith("M") for text in texts)


def test_marks_of_letters_and_parts_of_characters_are_parts_of_words(vocabulary):
    """Vowel signs are no letters to Python; byte-level pieces may be a part of a letter, without text."""
    texts = ["", "", "", "", "", "हिन्दी", "", "a b", "\n", "é", *["x"] * 190]
    kinds = kinds_of_pieces(replace(vocabulary, texts=lambda: texts), "counted", 1.0)
    assert kinds[5:10].tolist() == [TELLS, TELLS, BREAKS, BREAKS, TELLS]
    assert (kinds[:5] == BREAKS).all()


def test_without_texts_all_but_specials_may_be_in_a_span(vocabulary):
    kinds = kinds_of_pieces(vocabulary, "counted", 0.05)
    assert (kinds[:5] == BREAKS).all() and kinds[5] == TELLS
    shares = vocabulary.unigram_counts / vocabulary.unigram_counts.sum()
    assert (kinds_of_pieces(vocabulary, "counted", float(shares[7]) * 0.99)[5:9] == [STOPS] * 3 + [TELLS]).all()


def test_counts_that_are_shares_of_several_stores_stop_the_same_words():
    _, _, vocabulary = real_pack("en")
    shares = replace(vocabulary, unigram_counts=vocabulary.unigram_counts / vocabulary.unigram_counts.sum())
    assert (kinds_of_pieces(shares, "counted", 0.001) == kinds_of_pieces(vocabulary, "counted", 0.001)).all()
