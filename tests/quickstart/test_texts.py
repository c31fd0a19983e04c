"""All languages say the same things with the same places to fill."""

import string

from spanwise.quickstart.texts import words_of


def fields(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_languages_have_the_same_keys_and_fields():
    english = words_of("en")

    for language in ("en", "ko"):
        words = words_of(language)
        assert set(words) == set(english), language
        for key in english:
            assert fields(words[key]) == fields(english[key]), (language, key)
            assert words[key].strip(), (language, key)


def test_the_places_of_a_sentence_are_filled():
    assert words_of("en")("cores", number=2) == "2 CPU cores"
