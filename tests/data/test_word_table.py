"""Words get numbers as they appear, whatever their bytes and however many there are."""

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.data import word_table
from spanwise.data.word_table import WordTable

WORDS = re.compile(r"[^ !-/:-@\[-`{-~]+|[!-/:-@\[-`{-~]")


def numbered(table: WordTable, texts: list[str]) -> tuple[list[int], list[int]]:
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    numbers, word_ends = table.number(np.frombuffer(b"".join(encoded), dtype=np.uint8), ends)
    return numbers.tolist(), word_ends.tolist()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.text(st.characters(codec="utf-8") | st.sampled_from("ab .,~`{")), max_size=5), max_size=4))
def test_words_are_those_of_the_rule_and_equal_ones_share_a_number(calls):
    table, known = WordTable(), {}
    for texts in calls:
        numbers, ends = numbered(table, texts)
        split = [WORDS.findall(text) for text in texts]
        expected = [known.setdefault(word, len(known)) for words in split for word in words]
        assert numbers == expected and ends == np.cumsum([len(words) for words in split]).tolist()
    assert table.words(0) == list(known) and len(table) == len(known)
    assert table.num_bytes == sum(len(word.encode()) for word in known)


def test_a_table_grows_as_often_as_it_must_in_the_middle_of_a_text():
    table = WordTable()
    many = [f"낱말{number}" for number in range(40_000)]
    first, _ = numbered(table, ["x" * 100_000 + " " + " ".join(many)])
    again, ends = numbered(table, [" ".join(reversed(many)), "낱말7"])
    assert first == list(range(40_001)) and again == [*range(40_000, 0, -1), 8] and ends == [40_000, 40_001]
    assert table.words(39_999) == ["낱말39998", "낱말39999"]


def test_words_of_one_hash_stay_two_words(monkeypatch):
    plain = word_table._number.py_func
    same_hash = dict.fromkeys(("_OFFSET", "_PRIME"), np.uint64(0))
    monkeypatch.setattr(word_table, "_number", _with_globals(plain, same_hash))
    table = WordTable()
    assert numbered(table, ["ab ba ab c", "ba"])[0] == [0, 1, 0, 2, 1]
    assert table.words(0) == ["ab", "ba", "c"]


def _with_globals(function, changed):
    return type(function)(function.__code__, {**function.__globals__, **changed})
