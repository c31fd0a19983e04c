"""The tokens of a text, as every tokenizer gives them."""

import dataclasses

import numpy as np
import pytest

from spanwise.text.encoding import Encoding


def test_an_encoding_can_be_given_other_offsets_and_is_never_changed():
    encoding = Encoding(np.array([5, 6]), np.array([[0, 1], [1, 2]]), np.array([0, 0]))
    moved = dataclasses.replace(encoding, offsets=encoding.offsets + 1)
    assert moved.offsets.tolist() == [[1, 2], [2, 3]] and encoding.offsets.tolist() == [[0, 1], [1, 2]]
    with pytest.raises(dataclasses.FrozenInstanceError):
        encoding.ids = np.array([1])
