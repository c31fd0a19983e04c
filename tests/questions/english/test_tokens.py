"""Tokens stand where they say."""

from hypothesis import given
from hypothesis import strategies as st

from spanwise.questions.english.tokens import tokens_of, written


@given(st.text(max_size=60))
def test_tokens_are_cut_from_the_sentence_in_order_and_only_blanks_are_left(text):
    found = tokens_of(text)
    assert all(text[token.start : token.end] == token.text for token in found)
    assert "".join(token.text for token in found) == "".join(text.split())


def test_possessives_initials_and_numbers_are_cut_as_a_reader_would():
    found = [token.text for token in tokens_of("J. Doe's co-founder paid $1,250.50 in the 1960s, didn't he?")]
    assert found[:3] == ["J.", "Doe", "'s"]
    assert {"co-founder", "1,250.50", "1960s", "didn't"} <= set(found)


def test_tokens_are_written_with_the_blanks_they_had():
    text = "The king's (late) son, Otto, died."
    found = tokens_of(text)
    assert written(found) == text
    assert written(found[3:4] + found[6:7]) == "( son"


def test_what_a_shape_tells():
    cat, sat, slowly, was = tokens_of("cat discovered slowly was")
    assert cat.is_noun_like and not cat.is_finite
    assert sat.is_finite and not sat.is_noun_like
    assert not slowly.is_noun_like
    assert was.is_finite and not was.is_open
