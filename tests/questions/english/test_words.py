"""The lists hold words, and no word of one task that would undo another."""

from spanwise.questions.english import words


def test_lists_are_of_single_words():
    for found in (words.PREPOSITIONS, words.AUXILIARIES, words.PLACES, words.FIRST_NAMES, words.TITLES):
        assert len(found) > 15
        assert all(word.isalpha() for word in found)


def test_names_and_places_are_capitalised_and_told_apart():
    assert all(word[0].isupper() for word in words.FIRST_NAMES | words.PLACES | words.MONTHS)
    assert not words.PLACES & words.MONTHS
    assert len(words.MONTHS) == 12
