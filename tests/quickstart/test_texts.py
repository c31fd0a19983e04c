"""All languages say the same things with the same places to fill."""

import string

from spanwise.quickstart.texts import TEXTS


def fields(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_languages_have_the_same_keys_and_fields():
    english = TEXTS["en"]

    for language, words in TEXTS.items():
        assert set(words) == set(english), language
        for key in english:
            assert fields(words[key]) == fields(english[key]), (language, key)
            assert words[key].strip(), (language, key)
