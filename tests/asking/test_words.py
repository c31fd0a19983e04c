"""The terms of a text."""

import unicodedata

from spanwise.asking.words import Terms


def test_words_of_latin_letters_are_stemmed_whatever_their_case():
    assert Terms().of("Bridges, BRIDGE; 1890") == ["bridg", "bridg", "1890"]


def test_words_that_carry_particles_are_pairs_of_characters_in_any_unicode_form():
    for form in ("NFC", "NFD"):
        assert Terms().of(unicodedata.normalize(form, "고려여객이 강")) == ["고려", "려여", "여객", "객이", "강"]
    assert Terms().of("千年の都") == ["千年", "年の", "の都"]
