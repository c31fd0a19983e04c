"""The compiled search finds the clusters that the procedure, written down in plain Python, finds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from real_text import real_pack
from toy_packs import texts_of

from spanwise.pretraining.masking.clusters import BREAKS, STOPS, TELLS, find_clusters, room_for
from spanwise.pretraining.masking.merge import word_starts
from spanwise.pretraining.masking.stop_words import kinds_of_pieces

Clusters = list[list[tuple[int, int]]]


def search(ids, maskable, words, kinds, max_pieces=10, room=None) -> Clusters:
    """The clusters as lists of (first token, number of tokens)."""
    room = room_for(len(ids), max_pieces) if room is None else room
    first, size, border = find_clusters(ids, maskable, words, kinds, max_pieces, room)
    occurrences = list(zip(first.tolist(), size.tolist(), strict=True))
    return [occurrences[a:b] for a, b in pairwise(border)]


def written_down(ids, maskable, words, kinds, max_pieces=10) -> Clusters:
    """Longest first, clusters by their first place, occurrences from the left; with lists, slices and sets."""
    n = len(ids)

    def is_border(t):
        return t == n or not maskable[t] or words[t]

    def is_span(t, size):
        places = range(t, t + size)
        if t + size > n or not words[t] or not is_border(t + size):
            return False
        if any(not maskable[i] or kinds[ids[i]] == BREAKS for i in places):
            return False
        return any(kinds[ids[i]] != STOPS or not words[i] or not is_border(i + 1) for i in places)

    taken: set[int] = set()
    clusters: Clusters = []
    for size in range(max_pieces, 0, -1):
        found: dict[tuple, list[int]] = {}
        for t in range(n):
            if is_span(t, size):
                found.setdefault(tuple(ids[t : t + size].tolist()), []).append(t)
        for starts in found.values():
            chosen: list[int] = []
            for t in starts:
                if not taken & set(range(t, t + size)) and (not chosen or t >= chosen[-1] + size):
                    chosen.append(t)
            if len(chosen) > 1:
                clusters.append([(t, size) for t in chosen])
                taken |= {i for t in chosen for i in range(t, t + size)}
    return clusters


def clusters_of(line: str, stops: str = "", breaks: str = "[UNK]", max_pieces: int = 10) -> list[list[str]]:
    """The clusters of a line, each as the places of its occurrences: `first:end` in tokens of the line."""
    pack, numbers = texts_of([line])
    kinds = np.full(200, TELLS, dtype=np.uint8)
    kinds[[numbers[word] for word in stops.split()]] = STOPS
    kinds[[numbers[word] for word in breaks.split() if word in numbers]] = BREAKS
    words = word_starts(pack.borders, pack.maskable, pack.starts_word)
    found = search(pack.input_ids, pack.maskable, words, kinds, max_pieces)
    assert found == written_down(pack.input_ids, pack.maskable, words, kinds, max_pieces)
    return [[f"{t - 1}:{t - 1 + size}" for t, size in cluster] for cluster in found]


@pytest.mark.parametrize(
    ("line", "clusters"),
    [
        ("the mint of Denver made coins", []),
        ("Denver made coins in Denver", [["0:1", "4:5"]]),
        ("New York is not old York New", [["0:1", "6:7"], ["1:2", "5:6"]]),  # another order is another span
        ("New York and New York and New York", [["0:3", "3:6"]]),  # the longest first; what is left stands alone
        ("a b c x a b c y b c", [["0:3", "4:7"]]),  # b c are in a longer one but for a single place
        ("a b x a b y b z b", [["0:2", "3:5"], ["6:7", "8:9"]]),
        ("a a a a", [["0:2", "2:4"]]),  # occurrences do not overlap
        ("play+ing ball play+ing play", [["0:2", "3:5"]]),  # a word is all of its pieces
        ("play ing play+x y play", [["0:1", "5:6"]]),  # none begins or ends inside one
        ("[UNK] x [UNK] y", []),  # what is unknown equals nothing
        ("[UNK] x [UNK] x", [["1:2", "3:4"]]),
    ],
)
def test_the_longest_recurring_spans_are_found(line, clusters):
    assert clusters_of(line) == clusters


def test_the_longest_are_those_of_most_pieces():
    """Three words of three pieces lose to two words of four, which they touch."""
    assert clusters_of("x y a+b+c z x y a+b+c") == [["0:5", "6:11"]]
    assert clusters_of("x y a+b+c z x y a+b+c", max_pieces=4) == [["1:5", "7:11"], ["0:1", "6:7"]]


def test_a_span_of_stop_words_alone_is_none():
    line = "of the mint of the river of the"
    assert clusters_of(line) == [["0:2", "3:5", "6:8"]]
    assert clusters_of(line, stops="of the") == []
    assert clusters_of("the mint of the mint", stops="of the") == [["0:2", "3:5"]]  # one other word is enough
    assert clusters_of("of+the x of+the", stops="of the") == [
        ["0:2", "3:5"]
    ]  # a word of frequent pieces is none of them


def test_no_cluster_holds_a_piece_that_is_not_alphanumeric():
    assert clusters_of("a , b x a , b", breaks=",") == [["0:1", "4:5"], ["2:3", "6:7"]]
    assert clusters_of("a+, b x a+, b", breaks=",") == [["2:3", "6:7"]]  # and no part of such a word


def test_spans_are_no_longer_than_max_pieces():
    assert clusters_of("a b c d a b c d", max_pieces=3) == [["0:3", "4:7"], ["3:4", "7:8"]]
    assert [len(clusters_of("a b c d a b c d", max_pieces=size)) for size in (1, 2, 4)] == [4, 2, 1]


def test_what_an_unbound_scheme_knows_nothing_of_may_be_in_a_span():
    pack, _ = texts_of(["a b x a b"])
    words = word_starts(pack.borders, pack.maskable, pack.starts_word)
    assert search(pack.input_ids, pack.maskable, words, np.zeros(0, np.uint8)) == [[(1, 2), (4, 2)]]


def test_the_compiled_search_is_the_written_one():
    """Random texts of few different pieces, in one room that keeps what texts before have left there."""
    rng = np.random.default_rng(4)
    for max_pieces in (1, 2, 3, 10):
        room = room_for(60, max_pieces)
        for _ in range(200):
            n = int(rng.integers(0, 61))
            ids = rng.integers(0, rng.integers(2, 12), n)
            maskable = rng.random(n) < 0.95
            words = maskable & (rng.random(n) < 0.75)
            kinds = rng.choice([BREAKS, STOPS, TELLS, TELLS], 12).astype(np.uint8)
            expected = written_down(ids, maskable, words, kinds, max_pieces)
            assert search(ids, maskable, words, kinds, max_pieces, room) == expected


@pytest.mark.parametrize("language", ["en", "ko"])
def test_clusters_of_real_text_are_those_of_the_written_procedure(language):
    pack, tokenizer, vocabulary = real_pack(language)
    kinds = kinds_of_pieces(vocabulary, "counted", 0.001)
    words = word_starts(pack.borders, pack.maskable, pack.starts_word)
    room = room_for(512, 10)
    num_found = 0
    for first, last in list(pairwise(pack.borders))[::6]:
        text = (pack.input_ids[first:last], pack.maskable[first:last], words[first:last], kinds)
        found = search(*text, 10, room)
        assert found == written_down(*text)
        num_found += len(found)
        taken: set[int] = set()
        for cluster in found:
            spelt = {tuple(tokenizer.readable(text[0][t : t + size])) for t, size in cluster}
            assert len(cluster) > 1 and len(spelt) == 1
            pieces = next(iter(spelt))
            assert not pieces[0].startswith("##") and all(piece.removeprefix("##").isalnum() for piece in pieces)
            for t, size in cluster:
                after = tokenizer.readable(text[0][t + size : t + size + 1])
                assert not after[0].startswith("##")  # no word is cut, before it or behind it
                assert not taken & set(range(t, t + size))
                taken |= set(range(t, t + size))
    assert num_found >= 100
