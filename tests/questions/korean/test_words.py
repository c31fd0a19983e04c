"""The Korean lists hold composed words, each once."""

import unicodedata

from spanwise.questions.korean import words


def test_lists_are_of_composed_korean_words():
    for found in (words.PLACES, words.TITLES, words.PLACE_ENDS, words.COMMON, words.CONNECTIVES):
        assert len(found) > 5
        assert all(unicodedata.is_normalized("NFC", word) and word.strip() == word for word in found)
        assert all("가" <= letter <= "힣" for word in found for letter in word)
