"""Pipelines by name."""

import pytest

from spanwise.errors import ConfigError
from spanwise.pipelines import pipeline


def test_an_unknown_pipeline_is_answered_with_the_nearest_name():
    with pytest.raises(ConfigError, match="Did you mean 'question-answering'"):
        pipeline("question-answerin", model="x")


def test_a_pipeline_needs_a_model():
    with pytest.raises(ConfigError, match="needs a model"):
        pipeline("question-answering")
