"""The compiled search for recurring spans finds what a search with lists and slices finds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from toy_packs import UNK, texts_of

from spanwise.pretraining.masking.recurrence import recurring
from spanwise.pretraining.masking.recurring_spans import NO_WORD_IS_FREQUENT


def groups_of(line: str, frequent: str = "", max_words: int = 10) -> list[list[str]]:
    """The groups of a text, each as the places of its occurrences: `first:end` in words."""
    pack, numbers = texts_of([line])
    starts = np.flatnonzero(pack.starts_word)
    ends = np.append(starts[1:], len(pack.input_ids) - 1)
    is_frequent = np.isin(np.arange(200), [numbers[word] for word in frequent.split()])
    first, size, border = recurring(starts, ends, pack.input_ids, is_frequent, UNK, max_words)
    places = [f"{w}:{w + n}" for w, n in zip(first.tolist(), size.tolist(), strict=True)]
    return [places[a:b] for a, b in pairwise(border)]


@pytest.mark.parametrize(
    ("line", "groups"),
    [
        ("the mint of Denver made coins", []),
        ("Denver made coins in Denver", [["0:1", "4:5"]]),
        ("New York is not old York New", [["0:1", "6:7"], ["1:2", "5:6"]]),  # another order is another span
        ("New York and New York and New York", [["0:3", "3:6"]]),  # the longest first; what is left stands alone
        ("a b c x a b c y b c", [["0:3", "4:7"]]),  # b c are in a longer one but for a single place
        ("a b x a b y b z b", [["0:2", "3:5"], ["6:7", "8:9"]]),
        ("a a a a", [["0:2", "2:4"]]),  # occurrences do not overlap
        ("play+ing ball play+ing play ing", [["0:1", "2:3"]]),  # a word is all of its pieces
        ("[UNK] x [UNK] y", []),  # what is unknown equals nothing
        ("[UNK] x [UNK] x", [["1:2", "3:4"]]),
    ],
)
def test_the_longest_recurring_spans_are_found(line, groups):
    assert groups_of(line) == groups


def test_a_span_of_frequent_words_alone_is_none():
    line = "of the mint of the river of the"
    assert groups_of(line) == [["0:2", "3:5", "6:8"]]
    assert groups_of(line, frequent="of the") == []
    assert groups_of("the mint of the mint", frequent="of the") == [["0:2", "3:5"]]  # one rare word is enough


def test_spans_are_no_longer_than_max_words():
    assert groups_of("a b c d a b c d", max_words=3) == [["0:3", "4:7"], ["3:4", "7:8"]]
    assert groups_of("a b c d a b c d", max_words=1) == [["0:1", "4:5"], ["1:2", "5:6"], ["2:3", "6:7"], ["3:4", "7:8"]]


def plain_python(words: list[tuple], max_words: int) -> list[list[tuple[int, int]]]:
    """Longest first, groups by their first place, occurrences from the left; with lists and slices."""
    taken, groups = set(), []
    for n in range(max_words, 0, -1):
        places: dict[tuple, list[int]] = {}
        for w in range(len(words) - n + 1):
            places.setdefault(tuple(words[w : w + n]), []).append(w)
        for found in places.values():
            chosen: list[int] = []
            for w in found:
                if not taken & set(range(w, w + n)) and (not chosen or w >= chosen[-1] + n):
                    chosen.append(w)
            if len(chosen) > 1:
                groups.append([(w, n) for w in chosen])
                taken |= {place for w in chosen for place in range(w, w + n)}
    return groups


def test_the_compiled_search_is_the_written_one():
    rng = np.random.default_rng(4)
    for _ in range(300):
        sizes = rng.choice([1, 1, 2], rng.integers(0, 40))
        ids = rng.integers(10, 10 + rng.integers(2, 12), int(sizes.sum()))
        ends = np.cumsum(sizes)
        starts = ends - sizes
        max_words = int(rng.integers(1, 11))
        first, size, border = recurring(starts, ends, ids, NO_WORD_IS_FREQUENT, -1, max_words)
        occurrences = list(zip(first.tolist(), size.tolist(), strict=True))
        found = [occurrences[a:b] for a, b in pairwise(border)]
        words = [tuple(ids[a:b].tolist()) for a, b in zip(starts, ends, strict=True)]
        assert found == plain_python(words, max_words)
