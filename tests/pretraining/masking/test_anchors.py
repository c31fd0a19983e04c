"""A span begins at a visible word start, all alike, however few are left."""

from __future__ import annotations

import numpy as np
from toy_packs import pack_of

from spanwise.pretraining.masking.anchors import counted_anchor, is_anchor

PACK = pack_of([[0, 1, 2, 1, 0, 2, 1, 0]])


def anchors(hidden: list[int], by_token: bool) -> list[int]:
    hidden_T = np.isin(np.arange(8), hidden).astype(np.uint8)
    return [t for t in range(8) if is_anchor(t, 0, PACK.maskable, PACK.starts_word, hidden_T, by_token)]


def test_word_starts_are_starting_pieces_and_what_follows_a_special():
    assert anchors([], by_token=False) == [1, 3, 5, 6]


def test_by_token_every_visible_token_is_an_anchor():
    assert anchors([], by_token=True) == [1, 2, 3, 5, 6]
    assert anchors([2, 5], by_token=True) == [1, 3, 6]


def test_the_counted_draw_is_uniform_over_what_is_left():
    hidden_T = np.isin(np.arange(8), [1, 2]).astype(np.uint8)

    drawn = [
        counted_anchor(0, 8, PACK.maskable, PACK.starts_word, hidden_T, False, np.uint64(5), counter)
        for counter in range(3000)
    ]

    counts = np.bincount(drawn, minlength=8)
    assert set(drawn) == {3, 5, 6}
    assert abs(counts[[3, 5, 6]] - 1000).max() < 4.5 * np.sqrt(3000 * (1 / 3) * (2 / 3))
