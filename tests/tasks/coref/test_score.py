"""Scores equal the reference scorer's own test cases and slow definitions, pair by pair and match by match."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.tasks.coref.score import CoreferenceScorer


def score_documents(pairs):
    scorer = CoreferenceScorer()
    for key, response in pairs:
        scorer.add(key, response)
    return scorer.scores()


def clusters(text: str) -> list[list[tuple[int, int]]]:
    """`"a bc"` is one cluster of a and one of b and c; mentions are named by letters."""
    return [[(ord(letter), ord(letter) + 1) for letter in cluster] for cluster in text.split()]


KEY = "a bc def"
# what the reference implementation expects of key {a} {bc} {def}: recall and precision of each metric
CASES = {
    "a bc def": {"muc": (1, 1), "b_cubed": (1, 1), "ceaf_m": (1, 1), "ceaf_e": (1, 1), "blanc": (1, 1)},
    "a de": {
        "muc": (1 / 3, 1),
        "b_cubed": (7 / 18, 1),
        "ceaf_m": (0.5, 1),
        "ceaf_e": (0.6, 0.9),
        "blanc": (0.21591, 1),
    },
    "a bcx defy z": {
        "muc": (1, 3 / 5),
        "b_cubed": (1, (4 + 7 / 12) / 9),
        "ceaf_m": (1, 2 / 3),
        "ceaf_e": (0.88571, 0.66429),
        "blanc": (1, 0.42593),
    },
    "a bcx dy z": {
        "muc": (1 / 3, 1 / 3),
        "b_cubed": (5 / 9, 17 / 42),
        "ceaf_m": (2 / 3, 4 / 7),
        "ceaf_e": (0.73333, 0.55),
        "blanc": (0.35227, 0.27206),
    },
    "a bcxw dy z": {
        "muc": (1 / 3, 1 / 4),
        "b_cubed": (5 / 9, 5 / 16),
        "ceaf_m": (2 / 3, 1 / 2),
        "ceaf_e": (0.68889, 0.51667),
        "blanc": (0.35227, 0.19048),
    },
    "a bcx dy wz": {
        "muc": (1 / 3, 1 / 4),
        "b_cubed": (5 / 9, 17 / 48),
        "ceaf_m": (2 / 3, 1 / 2),
        "ceaf_e": (0.73333, 0.55),
        "blanc": (0.35227, 0.20870),
    },
    "a bcxb dy z": {"muc": (1 / 3, 1 / 3), "b_cubed": (5 / 9, 17 / 42), "blanc": (0.35227, 0.27206)},  # repeated
    "a bcx dy bz": {"muc": (1 / 3, 1 / 3), "ceaf_m": (2 / 3, 4 / 7), "blanc": (0.35227, 0.27206)},
    "a bcx dy bbbbbbbbbbz": {"b_cubed": (5 / 9, 17 / 42), "ceaf_e": (0.73333, 0.55), "blanc": (0.35227, 0.27206)},
    "a b c d e f": {"muc": (0, 0), "b_cubed": (0.5, 1), "blanc": (0.5, 0.36667)},
    "abcdef": {"muc": (1, 3 / 5), "b_cubed": (1, 7 / 18), "blanc": (0.5, 0.13333)},
}


@pytest.mark.parametrize("response", CASES)
def test_scores_are_those_of_the_reference_scorer(response):
    found = score_documents([(clusters(KEY), clusters(response))])

    for metric, (recall, precision) in CASES[response].items():
        f1 = 2 * recall * precision / (recall + precision) if recall + precision else 0.0
        assert found[metric]["recall"] == pytest.approx(100 * recall, abs=1e-3), metric
        assert found[metric]["precision"] == pytest.approx(100 * precision, abs=1e-3), metric
        if metric != "blanc":  # whose F1 is the mean of two
            assert found[metric]["f1"] == pytest.approx(100 * f1, abs=1e-3), metric


@pytest.mark.parametrize(
    ("response", "f1"), [("a de", 0.35385), ("a bcx defy z", 0.59717), ("a b c d e f", 0.42308), ("abcdef", 0.21053)]
)
def test_the_f1_of_blanc_is_the_mean_of_its_two_kinds(response, f1):
    assert score_documents([(clusters(KEY), clusters(response))])["blanc"]["f1"] == pytest.approx(100 * f1, abs=1e-3)


@pytest.mark.parametrize(
    ("key", "response", "expected"),
    [
        ("abcdef", "ab cde f", (0.26667, 1, 0.42105)),  # one cluster: no link of the key is apart
        ("abcdef", "ab cxy z", (0.06667, 0.25, 0.10526)),
        ("a b c d e f", "ab cde f", (0.73333, 1, 0.84615)),  # no cluster of two
        ("a b c d e f", "ab cxy z", (0.13333, 0.18182, 0.15385)),
        ("abcdef", "a b c d e f", (0, 0, 0)),
        ("a b c d e f", "abcdef", (0, 0, 0)),
    ],
)
def test_blanc_leaves_out_the_kind_of_links_that_the_key_lacks(key, response, expected):
    found = score_documents([(clusters(key), clusters(response))])["blanc"]

    assert tuple(found.values()) == pytest.approx([100 * number for number in expected], abs=1e-3)


def test_b_cubed_of_its_paper():
    """Bagga and Baldwin 1998: three clusters, of which the response joins two."""
    key = clusters("abcde fg hijkl")

    joined = score_documents([(key, clusters("abcde fghijkl"))])
    apart = score_documents([(key, clusters("abcdehijkl fg"))])

    assert joined["b_cubed"]["precision"] == pytest.approx(100 * 16 / 21)
    assert apart["b_cubed"]["precision"] == pytest.approx(100 * 7 / 12)
    assert joined["muc"]["precision"] == apart["muc"]["precision"] == pytest.approx(90.0)


def test_lea_of_its_paper():
    """Moosavi and Strube 2016, section 4: key {abc} {defg}, response {ab} {cd} {fghi}."""
    found = score_documents([(clusters("abc defg"), clusters("ab cd fghi"))])["lea"]

    assert found["recall"] == pytest.approx(100 * (3 * 1 / 3 + 4 * 1 / 6) / 7)
    assert found["precision"] == pytest.approx(100 * (2 * 1 + 2 * 0 + 4 * 1 / 6) / 8)


def test_conll_f1_is_the_mean_of_three():
    found = score_documents([(clusters(KEY), clusters("a bcx dy z"))])

    mean = (found["muc"]["f1"] + found["b_cubed"]["f1"] + found["ceaf_e"]["f1"]) / 3
    assert found["conll_f1"] == pytest.approx(mean)


@pytest.mark.parametrize(
    ("key", "response", "expected"),
    [("", "", 0.0), ("ab", "", 0.0), ("", "ab", 0.0), ("a", "a", 100.0), ("a", "b", 0.0), ("ab", "ab", 100.0)],
)
def test_documents_without_clusters_or_with_one_mention_have_scores(key, response, expected):
    found = score_documents([(clusters(key), clusters(response))])

    assert found["blanc"]["f1"] == expected
    assert found["b_cubed"]["f1"] == expected
    assert found["lea"]["f1"] == expected


def test_documents_are_added_up_before_dividing():
    first, second = (clusters("ab"), clusters("ab")), (clusters("cdef"), clusters("cd ef"))

    found = score_documents([first, second])

    assert found["muc"]["recall"] == pytest.approx(100 * (1 + 2) / (1 + 3))


LETTERS = "abcdefg"
PARTITIONS = st.lists(st.integers(0, 3), min_size=len(LETTERS), max_size=len(LETTERS))


def partition(numbers: list[int]) -> list[set[str]]:
    """Letters by their number; number 0 is no mention."""
    groups = [{letter for letter, n in zip(LETTERS, numbers, strict=True) if n == k} for k in (1, 2, 3)]
    return [group for group in groups if group]


def same(groups: list[set[str]], a: str, b: str) -> bool:
    return any(a in group and b in group for group in groups)


@settings(max_examples=150, deadline=None)
@given(PARTITIONS, PARTITIONS)
def test_scores_are_those_of_the_definitions(key_numbers, response_numbers):
    key, response = partition(key_numbers), partition(response_numbers)
    found = score_documents([(clusters(" ".join(map("".join, key))), clusters(" ".join(map("".join, response))))])

    in_key, in_response = set().union(*key), set().union(*response)
    b_cubed = [len(k & r) / len(k) for k in key for r in response for _ in k & r]
    assert found["b_cubed"]["recall"] == pytest.approx(100 * sum(b_cubed) / len(in_key) if in_key else 0.0)

    links = {c for k in key for c in combinations(sorted(k), 2)}
    right = {link for link in links if same(response, *link)}
    apart = {c for c in combinations(sorted(in_key), 2) if c not in links}
    right_apart = {c for c in apart if set(c) <= in_response and not same(response, *c)}
    if links and apart:
        blanc = (len(right) / len(links) + len(right_apart) / len(apart)) / 2
        assert found["blanc"]["recall"] == pytest.approx(100 * blanc)

    few, many = sorted((key, response), key=len)
    best = max(
        (sum(len(a & b) for a, b in zip(few, chosen, strict=True)) for chosen in permutations(many, len(few))),
        default=0,
    )
    assert found["ceaf_m"]["recall"] == pytest.approx(100 * best / len(in_key) if in_key else 0.0)
