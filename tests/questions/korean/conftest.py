"""Sentences with their morphemes."""

import pytest

from spanwise.questions.korean.rephrasing import Statement
from spanwise.questions.parts import Span
from spanwise.text.morphemes import MorphemeAnalyser


@pytest.fixture
def said():
    """From a sentence to a statement."""
    analyser = MorphemeAnalyser()
    return lambda text: Statement(text, analyser.morphemes([text])[0], analyser.joined)


@pytest.fixture
def place():
    """From a sentence and words of it to a span."""

    def place(text, answer, kind, unit=""):
        return Span(text.index(answer), text.index(answer) + len(answer), answer, kind, unit)

    return place
