"""A newcomer's scheme is a plain function of one sequence; what it returns is checked and merged."""

from __future__ import annotations

import sys
import types
from dataclasses import replace

import numpy as np
import pytest
from toy_packs import pack_of

from spanwise.config import to_record
from spanwise.errors import ConfigError
from spanwise.pretraining.masking import FunctionMasking
from spanwise.pretraining.system import check
from spanwise.recipes import spanbert_tiny
from spanwise.runtime.seed import keys_for

SCHEMES = """
def every_third_word(sequence, budget, draws):
    return [sequence.words[w] for w in range(draws.below(3), len(sequence.words), 3)]

def two_random_words(sequence, budget, draws):
    return [sequence.words[draws.below(len(sequence.words))] for _ in range(2)]

def special(sequence, budget, draws):
    return [(0, 2)]

def floats(sequence, budget, draws):
    return [3.5]

def broken(sequence, budget, draws):
    return [sequence.words[len(sequence.words)]]

def far(sequence, budget, draws):
    return [(20, 25)]

def halves(sequence, budget, draws):
    return [(1.5, 2.5)]

def nothing(sequence, budget, draws):
    return None

def whole_floats(sequence, budget, draws):
    return [(2.0, 4.0)]

def everything(sequence, budget, draws):
    return sequence.words
"""


@pytest.fixture(autouse=True)
def own_schemes(monkeypatch):
    module = types.ModuleType("own_schemes")
    exec(SCHEMES, module.__dict__)
    monkeypatch.setitem(sys.modules, "own_schemes", module)
    return module


PACK = pack_of([[0, 1, 2, 1, 1, 2, 2, 1, 0], [0, 1, 1, 1, 1, 1, 1, 0]])
KEYS = keys_for(0, "masking", 0, PACK.block_ids)


def test_a_function_is_a_scheme(own_schemes):
    spans = FunctionMasking(function=own_schemes.every_third_word).select(PACK, KEYS)

    words = {(1, 3), (3, 4), (4, 7), (7, 8)} | {(t, t + 1) for t in range(10, 16)}
    assert set(zip(spans.start.tolist(), spans.end.tolist(), strict=True)) <= words
    assert len(spans.start) >= 3


def test_touching_words_become_one_span(own_schemes):
    spans = FunctionMasking(function=own_schemes.everything).select(PACK, KEYS)

    assert (spans.start.tolist(), spans.end.tolist()) == ([1, 10], [8, 16])
    assert spans.sequence.tolist() == [0, 1]


def test_draws_depend_on_the_key_alone(own_schemes):
    scheme = FunctionMasking(function="own_schemes:two_random_words")

    first, again = scheme.select(PACK, KEYS), scheme.select(PACK, KEYS)
    other = [scheme.select(PACK, keys_for(0, "masking", epoch, PACK.block_ids)).start.tolist() for epoch in range(1, 9)]

    np.testing.assert_array_equal(first.start, again.start)
    assert any(start != first.start.tolist() for start in other)


def test_a_record_names_the_function(own_schemes):
    scheme = FunctionMasking(function=own_schemes.everything)

    assert scheme.function == "own_schemes:everything"
    assert to_record(scheme)["function"] == "own_schemes:everything"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("special", "covers no special"),
        ("floats", r"returned 3\.5; expected pairs of integers"),
        ("halves", r"returned \(1\.5, 2\.5\); expected pairs of integers"),
        ("nothing", "returned None; expected pairs of integers"),
    ],
)
def test_what_cannot_be_hidden_is_refused(name, message):
    with pytest.raises(ConfigError, match=message):
        FunctionMasking(function=f"own_schemes:{name}").select(PACK, KEYS)


def test_a_function_without_a_findable_name_is_refused():
    with pytest.raises(ConfigError, match="top of a module"):
        FunctionMasking(function=lambda sequence, budget, draws: [])
    with pytest.raises(ConfigError, match="module:function"):
        FunctionMasking(function="own_schemes:missing")


def test_a_capacity_is_kept(own_schemes):
    spans = FunctionMasking(function=own_schemes.everything).select(PACK, KEYS, capacity=4)

    assert (spans.end - spans.start).sum() == 4


def test_places_may_be_whole_numbers_of_any_type(own_schemes):
    spans = FunctionMasking(function=own_schemes.whole_floats).select(PACK, KEYS)

    assert (spans.start.tolist(), spans.end.tolist()) == ([2, 11], [4, 13])


@pytest.mark.parametrize("name", ["halves", "floats", "nothing"])
def test_a_function_that_returns_no_pairs_is_refused_before_any_text_is_read(name):
    with pytest.raises(ConfigError, match=f"own_schemes:{name} returned .* pairs of integers"):
        check(replace(spanbert_tiny(), masking=FunctionMasking(function=f"own_schemes:{name}")))


@pytest.mark.parametrize("name", ["broken", "far", "every_third_word"])
def test_a_function_that_knows_real_sequences_alone_is_let_through(name):
    """It may look something up by their numbers; made-up sequences have none of its text."""
    check(replace(spanbert_tiny(), masking=FunctionMasking(function=f"own_schemes:{name}")))
