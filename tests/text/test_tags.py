"""Token tags follow characters of the text as given."""

import numpy as np

from spanwise.text.tags import begins_at


def test_a_token_begins_at_a_border_also_behind_blanks():
    text = "ab  cd ef"
    offsets = np.array([[0, 1], [1, 2], [2, 6], [7, 9]], dtype=np.int32)
    assert begins_at(text, offsets, {0, 4, 8}).tolist() == [1, 0, 1, 0]
    assert begins_at(text, offsets, [7]).tolist() == [0, 0, 0, 1]


def test_no_tokens_have_no_tags():
    found = begins_at("", np.empty((0, 2), dtype=np.int32), {0})
    assert found.dtype == np.uint8 and found.shape == (0,)
