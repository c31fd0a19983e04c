"""The words of a sequence, and hiding up to a budget and under a limit."""

from __future__ import annotations

import numpy as np
import pytest
from toy_packs import pack_of

from spanwise.pretraining.masking.word_list import (
    LONE,
    NO_BUDGET,
    hide,
    list_words,
    longest_sequence,
    no_marks,
    word_starts,
)


def words_of(sequence: list[int]) -> list[tuple[int, int]]:
    pack = pack_of([[0, 1, 0], sequence])
    start, end = np.zeros(20, dtype=np.int64), np.zeros(20, dtype=np.int64)
    words = word_starts(pack.borders, pack.maskable, pack.starts_word)
    count = list_words(3, len(pack.input_ids), pack.maskable, words, start, end)
    return [(int(a) - 3, int(b) - 3) for a, b in zip(start[:count], end[:count], strict=True)]


@pytest.mark.parametrize(
    ("sequence", "words"),
    [
        ([0, 1, 2, 1, 0], [(1, 3), (3, 4)]),
        ([0, 2, 2, 1, 0], [(1, 3), (3, 4)]),  # the block begins inside a word
        ([0, 1, 0, 2, 1, 0], [(1, 2), (3, 4), (4, 5)]),  # a special ends a word
        ([0, 0], []),
        ([], []),
        ([1, 2, 2], [(0, 3)]),
    ],
)
def test_every_maskable_token_is_in_one_word(sequence, words):
    assert words_of(sequence) == words


def test_the_longest_sequence_is_found_also_among_empty_ones():
    assert longest_sequence(pack_of([[], [0, 1, 0], [1]]).borders) == 3
    assert longest_sequence(np.zeros(1, dtype=np.int64)) == 0


def test_hiding_counts_new_tokens_alone_and_says_whether_some_are_left():
    words, marks = np.ones(4, dtype=bool), no_marks(4)
    marks[1] = 7
    assert hide(0, 3, words, NO_BUDGET, 3, 1, marks, LONE) == (3, False)
    assert marks.tolist() == [1, 7, 1, 0]
    assert hide(1, 4, words, NO_BUDGET, 3, 3, marks, LONE) == (3, True)
    assert marks.tolist() == [1, 7, 1, 0]


@pytest.mark.parametrize(("budget", "found"), [(0, 2), (1, 2), (2, 2), (3, 3), (4, 6), (9, 6)])
def test_a_word_that_was_begun_is_finished_and_none_begins_beyond_the_budget(budget, found):
    words, marks = np.array([True, False, True, True, False, False]), no_marks(6)
    assert hide(0, 6, words, budget, 99, 0, marks, 5) == (found, False)
    assert marks.tolist() == [5] * found + [0] * (6 - found)
