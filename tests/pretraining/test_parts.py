"""The parts of a pack are refused together, before any store is opened."""

from __future__ import annotations

import pytest

from spanwise.errors import ConfigError
from spanwise.pretraining.corruption import Generator
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.masking import GeometricSpans, NoMasking, NoReplacement, Replacement, TaggedPhrases
from spanwise.pretraining.objectives import MaskedLM, ReplacedToken
from spanwise.pretraining.parts import PackParts

PARTS = {
    "format": SingleSegment(max_length=48),
    "masking": GeometricSpans(),
    "replacement": Replacement(),
    "objectives": {"mlm": MaskedLM()},
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_maskings": 0}, "num_maskings must be at least 1"),
        ({"max_tokens": 47}, "max_tokens=47 holds no sequence of format.max_length=48"),
        ({"masking": NoMasking(), "replacement": NoReplacement()}, "masking NoMasking hides none"),
    ],
)
def test_what_cannot_work_is_refused(changes, words):
    with pytest.raises(ConfigError, match=words):
        PackParts(**{**PARTS, **changes})


def test_what_the_corruption_learns_has_targets_too():
    parts = PackParts(**{**PARTS, "objectives": {"rtd": ReplacedToken()}, "corruption": Generator()})
    assert list(parts.trained_objectives) == ["mlm", "rtd"]


def test_a_pack_holds_one_sequence_where_nothing_is_said():
    assert PackParts(**PARTS).tokens_of_pack == 48
    assert PackParts(**PARTS, max_tokens=100).tokens_of_pack == 100


def test_side_arrays_are_those_of_the_masking_and_of_the_words():
    parts = PackParts(**{**PARTS, "masking": TaggedPhrases(), "word_unit": "morpheme"})
    assert parts.side_arrays == ("entities", "morphemes")
