"""Particles stay behind the question word, in the form its sound asks for."""

import pytest

from spanwise.questions.korean.particles import ends_in_consonant, with_particle


@pytest.mark.parametrize(
    ("word", "particle", "joined"),
    [
        ("누구", "이", "누가"),
        ("누구", "가", "누가"),
        ("누구", "은", "누가"),
        ("누구", "을", "누구를"),
        ("누구", "의", "누구의"),
        ("누구", "에게", "누구에게"),
        ("무엇", "는", "무엇이"),
        ("무엇", "를", "무엇을"),
        ("무엇", "와", "무엇과"),
        ("무엇", "로", "무엇으로"),
        ("어디", "으로", "어디로"),
        ("어디", "에서는", "어디에서"),
        ("몇 월", "으로", "몇 월로"),
        ("어느 곳", "가", "어느 곳이"),
    ],
)
def test_particles(word, particle, joined):
    assert with_particle(word, particle) == joined


def test_closed_syllables():
    assert ends_in_consonant("무엇") and not ends_in_consonant("누구")
    assert ends_in_consonant("물") and not ends_in_consonant("물", but_liquid=True)
    assert not ends_in_consonant("x")
