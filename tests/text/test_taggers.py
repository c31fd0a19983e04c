"""Taggers are found by name."""

import pytest

from spanwise.errors import ConfigError
from spanwise.text.taggers import find_tagger


def test_a_wrong_name_is_answered_by_the_nearest():
    with pytest.raises(ConfigError, match=r"nothing tags 'morpheme'.*Did you mean 'morphemes'"):
        find_tagger("morpheme")


def test_a_tagger_has_the_name_it_was_asked_for_and_says_what_it_is():
    tagger = find_tagger("morphemes")
    assert tagger.name == "morphemes" and tagger.source.startswith("kiwipiepy ")
