"""Token tags follow characters of the text as given; phrases stay apart where they touch."""

import numpy as np
import pytest

from spanwise.errors import DataError
from spanwise.text.tags import begins_at, phrase_tags


def test_a_token_begins_at_a_border_also_behind_blanks():
    text = "ab  cd ef"
    offsets = np.array([[0, 1], [1, 2], [2, 6], [7, 9]], dtype=np.int32)
    assert begins_at(text, offsets, {0, 4, 8}).tolist() == [1, 0, 1, 0]
    assert begins_at(text, offsets, [7]).tolist() == [0, 0, 0, 1]


def test_no_tokens_have_no_tags():
    found = begins_at("", np.empty((0, 2), dtype=np.int32), {0})
    assert found.dtype == np.uint8 and found.shape == (0,)


TEXT = "New York Denver won."
OFFSETS = np.array([[0, 3], [4, 8], [9, 12], [12, 15], [16, 19], [19, 20]])  # Den ##ver


def test_a_phrase_begins_once_and_goes_on():
    assert phrase_tags(TEXT, OFFSETS, [(0, 8)]).tolist() == [1, 2, 0, 0, 0, 0]
    assert phrase_tags(TEXT, OFFSETS, [(9, 15)]).tolist() == [0, 0, 1, 2, 0, 0]
    assert phrase_tags(TEXT, OFFSETS, []).dtype == np.uint8


def test_phrases_that_touch_stay_two():
    """In one bit per token they would be one."""
    assert phrase_tags(TEXT, OFFSETS, [(9, 15), (0, 8)]).tolist() == [1, 2, 1, 2, 0, 0]


def test_a_token_that_holds_a_part_of_the_phrase_belongs_to_it():
    assert phrase_tags(TEXT, OFFSETS, [(10, 11)]).tolist() == [0, 0, 1, 0, 0, 0]
    assert phrase_tags(TEXT, OFFSETS, [(7, 10)]).tolist() == [0, 1, 2, 0, 0, 0]


def test_blanks_that_a_token_keeps_are_not_of_it():
    with_blanks = np.array([[0, 3], [3, 8], [8, 12], [12, 15], [15, 19], [19, 20]])  # as byte-level BPE
    assert phrase_tags(TEXT, with_blanks, [(0, 8)]).tolist() == [1, 2, 0, 0, 0, 0]
    assert phrase_tags(TEXT, with_blanks, [(3, 4)]).tolist() == [0] * 6  # a blank alone is no phrase


def test_of_overlapping_phrases_the_first_and_longest_counts():
    assert phrase_tags(TEXT, OFFSETS, [(4, 15), (0, 3), (0, 8)]).tolist() == [1, 2, 0, 0, 0, 0]
    assert phrase_tags(TEXT, OFFSETS, [(9, 11), (11, 15)]).tolist() == [0, 0, 1, 0, 0, 0]  # one token is in one phrase


def test_a_text_without_tokens_has_no_tags():
    assert phrase_tags(" ", np.empty((0, 2)), [(0, 1)]).shape == (0,)


@pytest.mark.parametrize("phrase", [(-1, 3), (3, 3), (5, 4), (0, 21)])
def test_ranges_outside_the_text_are_refused(phrase):
    with pytest.raises(DataError, match="does not lie in 'New York"):
        phrase_tags(TEXT, OFFSETS, [phrase])
