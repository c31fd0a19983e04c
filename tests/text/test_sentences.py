"""Sentences lose nothing, and a long paragraph costs no more than its length."""

import pytest
import sentencex
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import ConfigError
from spanwise.text.corpus import CorpusOptions
from spanwise.text.sentences import MAX_SENTENCE_CHARACTERS, cut_long, sentence_ranges, split_sentences


def solid(text: str) -> str:
    return "".join(text.split())


def test_abbreviations_and_decimals_do_not_end_a_sentence():
    found = split_sentences("Mr. Smith paid $3.5 on Monday.  He left. Nobody asked why?")
    assert found == ["Mr. Smith paid $3.5 on Monday.", "He left.", "Nobody asked why?"]


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(codec="utf-8")), st.sampled_from(["en", "ko", "de", "ja", "xx"]))
def test_no_character_but_white_space_is_lost(paragraph, language):
    found = split_sentences(paragraph, language)
    assert solid("".join(found)) == solid(paragraph)
    assert all(sentence == sentence.strip() and sentence for sentence in found)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["Yes. ", "word ", "x" * 300, "中。", '" ', "\t"]), max_size=40), st.integers(1, 400))
def test_long_paragraphs_lose_nothing_and_no_sentence_is_too_long(parts, times):
    paragraph = ("".join(parts) * times)[:60_000]
    for found in (split_sentences(paragraph), cut_long(paragraph)):
        assert solid("".join(found)) == solid(paragraph)
        assert max(map(len, found), default=0) <= MAX_SENTENCE_CHARACTERS


def test_a_sentence_that_lies_over_a_window_border_stays_whole():
    sentence = "This sentence has exactly seven words inside."
    found = split_sentences(" ".join([sentence] * 1_000))
    assert set(found) == {sentence} and len(found) == 1_000


def test_long_text_is_cut_at_white_space_only():
    words = [f"word{number}" for number in range(5_000)]
    assert " ".join(cut_long(" ".join(words))).split() == words


def test_the_splitter_is_given_short_texts_and_each_character_about_once(monkeypatch):
    """Its time grows with the square of a text's length: so that of a paragraph grows with its length alone."""
    lengths = []
    segment = sentencex.segment
    monkeypatch.setattr(sentencex, "segment", lambda code, text: lengths.append(len(text)) or segment(code, text))
    paragraph = "中。" * 80_000
    assert len(split_sentences(paragraph)) == 80_000
    assert max(lengths) <= MAX_SENTENCE_CHARACTERS
    assert len(paragraph) <= sum(lengths) <= 1.01 * len(paragraph)  # a window's last sentence is read again in the next


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("Ab. 한!\n\r\t🙂\u2029'\"中"), max_size=80), st.sampled_from(["en", "ko", "xx"]))
def test_ranges_of_sentences_hold_every_character_and_end_at_line_breaks(text, language):
    ranges = sentence_ranges(text, language)
    covered = [place for start, end in ranges for place in range(start, end)]
    assert covered == sorted(set(covered))
    assert set(covered) >= {place for place, character in enumerate(text) if not character.isspace()}
    for start, end in ranges:
        assert text[start:end] == text[start:end].strip() and len(text[start:end].splitlines()) == 1


def test_a_line_break_ends_a_sentence():
    assert sentence_ranges(" Yes. No.\n\nWell") == [(1, 5), (6, 9), (11, 15)]


@pytest.mark.parametrize("language", ["korean", "EN", "", "k", "en us"])
def test_a_language_that_is_no_code_is_refused(language):
    with pytest.raises(ConfigError, match="expected a code of ISO 639-1, such as en, ko or de"):
        CorpusOptions(language=language)


@pytest.mark.parametrize("language", ["en", "ko", "pt-br", "nds", "xx"])
def test_a_code_is_taken(language):
    assert split_sentences("Hi.", CorpusOptions(language=language).language) == ["Hi."]
