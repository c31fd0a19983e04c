"""Pipelines by name."""

import pytest

from spanwise.errors import ConfigError
from spanwise.pipelines import pipeline


def test_an_unknown_pipeline_is_answered_with_the_nearest_name():
    with pytest.raises(ConfigError, match="Did you mean 'question-answering'"):
        pipeline("question-answerin", model="x")


def test_a_pipeline_needs_a_model():
    with pytest.raises(ConfigError, match="needs a model"):
        pipeline("text-classification")


def test_an_unknown_option_of_any_pipeline_is_answered_with_the_nearest_name(masked_lm_folder):
    with pytest.raises(ConfigError, match=r"has no option 'on_overflw'; it has .*Did you mean 'on_overflow'"):
        pipeline("text-classification", model=masked_lm_folder, on_overflw="error")
    with pytest.raises(ConfigError, match="Did you mean 'top_k'"):
        pipeline("fill-mask", model=masked_lm_folder, top_l=3)
