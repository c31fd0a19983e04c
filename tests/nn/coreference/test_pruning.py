"""Candidates and kept spans equal those of plain loops over all spans."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.nn.coreference.pruning import candidate_spans, keep_spans


@st.composite
def documents(draw):
    lengths = draw(st.lists(st.integers(1, 7), max_size=5))
    sentence_T = np.repeat(np.arange(len(lengths)), lengths)
    starts = np.array(draw(st.lists(st.booleans(), min_size=len(sentence_T), max_size=len(sentence_T))), dtype=bool)
    starts[np.append(True, np.diff(sentence_T) > 0)[: len(starts)]] = True
    return starts, sentence_T, draw(st.integers(1, 5))


@settings(max_examples=60, deadline=None)
@given(documents())
def test_candidates_are_all_spans_of_whole_words_of_one_sentence_up_to_a_width(document):
    starts, sentences, width = document
    n = len(starts)
    expected = [
        (a, b)
        for a in range(n)
        for b in range(a + 1, n + 1)
        if starts[a] and (b == n or starts[b]) and sentences[a] == sentences[b - 1] and b - a <= width
    ]
    start_N, end_N = candidate_spans(starts, sentences, width)
    assert list(zip(start_N.tolist(), end_N.tolist(), strict=True)) == expected


def crosses(a, b):
    return a[0] < b[0] < a[1] < b[1] or b[0] < a[0] < b[1] < a[1]


@settings(max_examples=60, deadline=None)
@given(documents(), st.integers(0, 30), st.integers(0, 2**31))
def test_kept_spans_are_those_of_the_plain_greedy_loop(document, num_spans, seed):
    starts, sentences, width = document
    start_N, end_N = candidate_spans(starts, sentences, width)
    scores = np.random.default_rng(seed).integers(0, 9, len(start_N)).astype(np.float32)  # with ties
    spans = list(zip(start_N.tolist(), end_N.tolist(), strict=True))
    expected = []
    for index in np.argsort(-scores, kind="stable"):
        if len(expected) < num_spans and not any(crosses(spans[index], spans[other]) for other in expected):
            expected.append(int(index))
    kept = keep_spans(start_N, end_N, scores, num_spans, len(starts)).tolist()
    assert kept == sorted(expected)
    assert [spans[k] for k in kept] == sorted(spans[k] for k in kept)


def test_fewer_spans_than_asked_for_come_back_where_the_others_cross():
    start_N, end_N = np.array([0, 1, 2]), np.array([2, 3, 4])
    assert keep_spans(start_N, end_N, np.array([1.0, 9.0, 2.0], np.float32), 3, 4).tolist() == [1]
    none = np.zeros(0, dtype=np.int64)
    assert len(keep_spans(none, none, np.zeros(0, np.float32), 5, 0)) == 0
