"""What a person may choose of an adaptation, and what is refused."""

import pytest

from spanwise.adapt.options import AdaptationOptions, Length
from spanwise.errors import ConfigError


def test_a_part_of_a_length():
    assert Length(steps=40).part(0.25) == Length(steps=10) and Length(steps=1).part(0.25) == Length(steps=1)
    assert Length(seconds=40.0).part(0.75) == Length(seconds=30.0)


def test_options_that_contradict_are_refused():
    for length in (Length(), Length(seconds=5.0, steps=20)):
        with pytest.raises(ConfigError, match="either a budget"):
            AdaptationOptions(length=length)
    for wrong in ({"replay_share": 1.0}, {"general_bound": -0.1}, {"new_pieces": -1}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            AdaptationOptions(length=Length(steps=20), **wrong)
