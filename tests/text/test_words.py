"""Word starts follow the pieces, not the characters."""

import numpy as np

from spanwise.text.words import (
    BYTE_LEVEL_BLANK,
    WordMarks,
    ends_word_table,
    is_word_of_its_own,
    starts_word_table,
    word_ids,
    word_starts,
)

PIECES = ["[PAD]", "[UNK]", "[CLS]", "play", "##ing", ",", "##,", "韓"]
SPECIAL = {0, 1, 2}


def starts():
    return starts_word_table(PIECES, special_ids=SPECIAL, unk_id=1)


def ends():
    return ends_word_table(PIECES, special_ids=SPECIAL, unk_id=1)


def test_punctuation_unknown_and_single_characters_are_words_and_specials_are_not():
    assert starts().tolist() == [False, True, False, True, False, True, False, True]
    assert not ends().any()


def test_word_ids_count_words_from_zero():
    assert word_ids(np.array([3, 4, 5, 1, 7, 4]), starts(), ends()).tolist() == [0, 0, 1, 2, 3, 3]


def test_a_continuation_without_a_beginning_opens_the_first_word():
    assert word_ids(np.array([4, 4, 3]), starts(), ends()).tolist() == [0, 0, 1]


def test_no_tokens_give_no_words():
    assert word_ids(np.array([], dtype=np.int32), starts(), ends()).tolist() == []


def test_a_vocabulary_without_an_unknown_token_keeps_its_last_piece_as_it_is():
    pieces = ["<s>", "##ing"]
    assert starts_word_table(pieces, special_ids={0}, unk_id=-1).tolist() == [False, False]
    assert ends_word_table(pieces, special_ids={0}, unk_id=-1).tolist() == [False, False]


def test_marks_of_beginnings_and_other_continuations_are_read_too():
    """Told by `##` alone, every piece of other tokenizers would be a word."""
    marked = WordMarks(blank="\u2581")
    assert [marked.starts_word(piece) for piece in ("\u2581play", "ing", ".", "\u2581", "(", "s", "。", "漢")] == [
        True, False, True, True, True, False, True, True,
    ]  # fmt: skip
    assert [marked.ends_word(piece) for piece in ("\u2581play", "\u2581(", ").", "\u2581", "字", "'s")] == [
        False, True, True, False, True, False,
    ]  # fmt: skip
    assert [marked.characters(piece) for piece in ("\u2581play", "ing", "\u2581", "\u2581\u2581")] == [
        "play",
        "ing",
        "",
        " ",
    ]
    bytes_of = ("<0xEA>", "<0x2E>", "<0x0A>", "<0x0a>")  # half a character, a full stop, a line feed, and plain text
    assert [marked.characters(piece) for piece in bytes_of] == ["", ".", "\n", "<0x0a>"]
    assert [marked.starts_word(piece) for piece in bytes_of] == [False, True, True, True]
    assert [WordMarks(end="</w>").characters(piece) for piece in ("play</w>", "play")] == ["play", "play"]
    other = WordMarks(continuation="@@")
    assert [other.characters(piece) for piece in ("play", "@@ing", "##ing")] == ["play", "ing", "##ing"]
    assert [other.starts_word(piece) for piece in ("play", "@@ing", "##ing")] == [True, False, True]
    assert WordMarks().starts_word("##ing") and not WordMarks().ends_word("##ing")


def test_bytes_are_read_as_the_characters_they_are():
    """Ċ is a line feed, ãĢĤ the bytes of a Chinese full stop, and half a character is part of a word."""
    marks = WordMarks(blank=BYTE_LEVEL_BLANK)
    assert BYTE_LEVEL_BLANK == "Ġ"
    assert [marks.starts_word(piece) for piece in ("Ġthe", "the", "Ċ", "ĠĠ", ".", "ãĢĤ", "ã", "íķľ", "<mask>")] == [
        True, False, True, True, True, True, False, False, True,
    ]  # fmt: skip
    assert [marks.ends_word(piece) for piece in ("Ġthe", "Ċ", "ĠĠ", "Ġ(", "ãĢĤ", "ã")] == [
        False, True, False, True, True, False,
    ]  # fmt: skip


def test_marks_of_ends_start_the_word_behind_them():
    pieces = ["<unk>", "play", "ing</w>", ",</w>"]
    marks = WordMarks(end="</w>")
    first = starts_word_table(pieces, special_ids={0}, unk_id=0, marks=marks)
    last = ends_word_table(pieces, special_ids={0}, unk_id=0, marks=marks)
    assert word_starts(np.array([1, 2, 3, 1, 0, 1, 2]), first, last).tolist() == [1, 0, 1, 1, 1, 1, 0]


def test_words_of_their_own_are_those_of_bert():
    assert all(is_word_of_its_own(character) for character in "!$^`~-。「…漢豈")
    assert not any(is_word_of_its_own(character) for character in "a1한ㅋ€ é")
