"""Word starts follow the pieces, not the characters."""

import numpy as np

from spanwise.text.words import WordMarks, starts_word_table, word_ids

PIECES = ["[PAD]", "[UNK]", "[CLS]", "play", "##ing", ",", "##,", "韓"]


def table():
    return starts_word_table(PIECES, special_ids={0, 1, 2}, unk_id=1)


def test_punctuation_unknown_and_single_characters_are_words_and_specials_are_not():
    assert table().tolist() == [False, True, False, True, False, True, False, True]


def test_word_ids_count_words_from_zero():
    assert word_ids(np.array([3, 4, 5, 1, 7, 4]), table()).tolist() == [0, 0, 1, 2, 3, 3]


def test_a_continuation_without_a_beginning_opens_the_first_word():
    assert word_ids(np.array([4, 4, 3]), table()).tolist() == [0, 0, 1]


def test_no_tokens_give_no_words():
    assert word_ids(np.array([], dtype=np.int32), table()).tolist() == []


def test_marks_of_beginnings_and_other_continuations_are_read_too():
    """7A-12."""
    marked = WordMarks(starts=("\u2581",))
    assert [marked.starts_word(piece) for piece in ("\u2581play", "ing", ".", "\u2581", "(", "s")] == [
        True, False, True, True, True, False,
    ]  # fmt: skip
    other = WordMarks(continuation="@@")
    assert [other.starts_word(piece) for piece in ("play", "@@ing", "##ing")] == [True, False, True]
    assert WordMarks(continuation="").starts_word("##ing")
