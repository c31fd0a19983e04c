"""Spans are the unbroken runs of equal marks, never across a sequence border; groups survive whatever joins spans."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_packs import pack_of, packs_of

from spanwise.pretraining.masking.merge import (
    LONE,
    NO_BUDGET,
    gaps,
    hidden_tokens,
    hide,
    join_spans,
    list_words,
    longest_sequence,
    merged,
    move,
    no_marks,
    runs,
    spans_of,
    word_starts,
)
from spanwise.pretraining.packs import Spans


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


def test_hiding_counts_new_tokens_alone_and_ends_at_the_limit():
    words, marks = np.ones(4, dtype=bool), no_marks(4)
    marks[1] = 7
    assert hide(0, 3, words, NO_BUDGET, 3, 1, marks, LONE) == 3
    assert marks.tolist() == [1, 7, 1, 0]
    assert hide(1, 4, words, NO_BUDGET, 3, 3, marks, LONE) == 3
    assert marks.tolist() == [1, 7, 1, 0]


@pytest.mark.parametrize(("budget", "found"), [(0, 2), (1, 2), (2, 2), (3, 3), (4, 6), (9, 6)])
def test_a_word_that_was_begun_is_finished_and_none_begins_beyond_the_budget(budget, found):
    words, marks = np.array([True, False, True, True, False, False]), no_marks(6)
    assert hide(0, 6, words, budget, 99, 0, marks, 5) == found
    assert marks.tolist() == [5] * found + [0] * (6 - found)


SEQUENCES = st.lists(st.lists(st.integers(0, 4), max_size=30), min_size=1, max_size=5)


def marks_of(sequences):
    borders = np.cumsum([0] + [len(sequence) for sequence in sequences])
    marks_T = no_marks(borders[-1])
    marks_T[:] = [mark for sequence in sequences for mark in sequence]
    return marks_T, borders


@settings(max_examples=150, deadline=None)
@given(SEQUENCES)
def test_runs_are_what_a_plain_scan_finds(sequences):
    marks_T, borders = marks_of(sequences)
    expected = []
    for s, sequence in enumerate(sequences):
        for i, mark in enumerate(sequence):
            if mark and (i == 0 or sequence[i - 1] != mark):
                expected.append([s, int(borders[s]) + i, int(borders[s]) + i, mark])
            if mark:
                expected[-1][2] += 1

    found = runs(marks_T, borders)

    assert [list(row) for row in zip(*(column.tolist() for column in found), strict=True)] == expected


@settings(max_examples=150, deadline=None)
@given(SEQUENCES)
def test_spans_of_groups_stay_apart_and_what_touches_is_one_gap(sequences):
    """Marks 2 and 4 are of group 0, mark 3 of group 1."""
    marks_T, borders = marks_of(sequences)
    spans = spans_of(marks_T, borders, group_O=np.array([0, 1, 0]), kept=np.zeros((2, 2), dtype=np.int64))
    plain = spans_of(np.minimum(marks_T, 1), borders)

    assert spans.group.tolist() == [{1: -1, 2: 0, 3: 1, 4: 0}[int(marks_T[t])] for t in spans.start]
    first_M, last_M = gaps(spans)
    inside = np.searchsorted(plain.start, spans.start, side="right") - 1
    assert first_M.tolist() == plain.start[inside].tolist() and last_M.tolist() == plain.end[inside].tolist()
    assert plain.group is None and gaps(plain)[0] is plain.start
    whole = merged(spans)
    for name in ("sequence", "start", "end"):
        assert getattr(whole, name).tolist() == getattr(plain, name).tolist()
    assert whole.group is None and whole.kept is None


@settings(max_examples=100, deadline=None)
@given(SEQUENCES, st.data())
def test_parts_of_a_pack_join_to_the_whole_with_their_groups(sequences, data):
    """Each sequence has groups of its own; two parts that own every sequence between them give the spans of all."""
    marks_T, borders = marks_of(sequences)
    in_first = data.draw(st.lists(st.booleans(), min_size=len(sequences), max_size=len(sequences)))
    parts = []
    for chosen in (True, False):
        rows = np.array([s for s, one in enumerate(in_first) if one is chosen], dtype=np.int64)
        own, own_borders = marks_of([[4 * k + 1 + m if m else 0 for m in sequences[s]] for k, s in enumerate(rows)])
        group_O = np.arange(4 * len(rows))
        kept = np.repeat(own_borders[group_O // 4], 2).reshape(-1, 2)  # the first token of its sequence
        spans = spans_of(own, own_borders, group_O=group_O, kept=kept)
        shift = borders[:-1][rows] - own_borders[:-1]
        parts.append(move(spans, rows, shift))

    spans = join_spans(parts)

    plain = runs(marks_T, borders)
    assert spans.start.tolist() == plain[1].tolist() and spans.end.tolist() == plain[2].tolist()
    assert spans.sequence.tolist() == plain[0].tolist()
    same = {}
    for s, mark, group in zip(spans.sequence.tolist(), plain[3].tolist(), spans.group.tolist(), strict=True):
        assert same.setdefault((s, mark), group) == group
        assert spans.kept[group].tolist() == [borders[s], borders[s]]
    assert len(set(same.values())) == len(same)


def test_hidden_tokens_carry_their_span_and_the_original_id():
    pack = packs_of(2, 10)
    spans = Spans(sequence=np.array([0, 1]), start=np.array([3, 14]), end=np.array([5, 17]))

    hidden = hidden_tokens(pack, spans)

    assert hidden.position.tolist() == [3, 4, 14, 15, 16]
    assert hidden.span.tolist() == [0, 0, 1, 1, 1]
    np.testing.assert_array_equal(hidden.original_ids, pack.input_ids[[3, 4, 14, 15, 16]])
