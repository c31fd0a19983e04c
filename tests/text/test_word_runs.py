"""The test of eight-word runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import ConfigError
from spanwise.text.word_runs import RUN_WORDS, WordRuns, words

SENTENCE = "The Broncos defeated the Panthers, 24-10, in the fiftieth final of the league."
PLAIN = st.lists(st.sampled_from(list("abcdefghijklmnopqrst")), max_size=30)


def test_case_and_punctuation_hide_no_copy():
    known = WordRuns([SENTENCE])
    copy = "as we know, THE BRONCOS defeated (the Panthers) 24:10 in the “fiftieth” final"
    assert known.shares(copy)
    assert known.shared(copy)[0] == "the broncos defeated the panthers 24 10 in"
    assert len(known) == len(words(SENTENCE)) - RUN_WORDS + 1


def test_seven_words_in_common_are_no_run_and_eight_are():
    known = WordRuns([SENTENCE])
    assert not known.shares("Today the Broncos defeated the Panthers 24-10 again.")
    assert known.shares("Today the Broncos defeated the Panthers 24-10 in Denver.")


def test_a_short_text_has_no_run_and_an_empty_set_shares_none():
    known = WordRuns(["Only four words here."])
    assert len(known) == 0
    assert not known.shares("Only four words here.")
    assert not WordRuns().shares(SENTENCE)


def test_runs_do_not_reach_over_the_border_of_two_texts():
    known = WordRuns(["one two three four", "five six seven eight"])
    assert not known.shares("one two three four five six seven eight")


def test_korean_runs_are_of_words_between_blanks_and_chinese_ones_of_characters():
    known = WordRuns(["세종은 1443년에 집현전 학자들과 함께 훈민정음을 만들고 널리 폈다."])
    assert known.shares("그때 세종은 1443년에, 집현전 학자들과 함께 훈민정음을 만들고 널리...")
    assert not known.shares("세종은 1443년에 집현전 학자들과 함께 훈민정음을 만들었다.")
    assert words("東京は大きい") == list("東京は大きい")


def test_composed_and_wide_forms_are_the_same_words():
    assert words("Cafe\u0301 １２") == words("Café 12")


def test_a_length_below_one_is_refused():
    with pytest.raises(ConfigError, match="length=0"):
        WordRuns(length=0)


@given(PLAIN, PLAIN, st.integers(1, 9))
def test_a_text_shares_exactly_when_a_window_of_words_is_in_both(first, second, length):
    def windows(found: list[str]) -> set[tuple[str, ...]]:
        return {tuple(found[place : place + length]) for place in range(len(found) - length + 1)}

    known = WordRuns([" ".join(first)], length=length)
    common = windows(first) & windows(second)
    assert known.shares(", ".join(second).upper()) is bool(common)
    assert set(known.shared(" ".join(second))) == {" ".join(run) for run in common}
