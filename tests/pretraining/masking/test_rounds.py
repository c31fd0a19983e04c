"""The shared loop ends in a bounded number of rounds and draws every visible anchor alike, however few are left."""

from __future__ import annotations

import numpy as np
import pytest
from toy_packs import pack_of

from spanwise.pretraining.masking.rounds import MAX_VOID, Rounds
from spanwise.runtime.seed import below, derive_key


def needle(num_tokens: int, places: list[int]):
    """A sequence in which words start at `places` alone; the first token, which always starts one, is special."""
    kinds = [2] * num_tokens
    for place in places:
        kinds[place] = 1
    for place in places:  # a special before each word and after it: nothing else can be hidden
        kinds[place - 1] = kinds[place + 1] = 0
    return pack_of([[0 if kind == 2 else kind for kind in kinds]])


def test_rare_anchors_are_found_and_drawn_alike():
    places = [100, 600, 900]
    pack = needle(1000, places)
    hidden = []
    for epoch in range(900):
        keys = np.array([derive_key(0, "masking", epoch)], dtype=np.uint64)
        spans = Rounds(ratio=0.3).select(pack, keys, None)  # ceil(0.3 * 3) = 1
        hidden.append(int(spans.start[0]))

    counts = np.bincount(hidden, minlength=1000)[places]

    assert counts.sum() == 900
    assert abs(counts - 300).max() < 4.5 * np.sqrt(900 * (1 / 3) * (2 / 3))


@pytest.mark.parametrize("draws", [1, 2])
def test_after_too_many_void_rounds_the_next_one_draws_among_the_anchors_alone(draws):
    from spanwise.pretraining.masking.alias import AliasTable

    pack = needle(2000, [1500])
    lengths = AliasTable.from_weights(np.ones(3)) if draws == 2 else None
    key = next(
        key
        for key in (derive_key(0, "masking", epoch) for epoch in range(100))
        if all(below(np.uint64(key), draws * (r + 1) - 1, 2000) != 1500 for r in range(MAX_VOID))
    )

    spans = Rounds(ratio=1.0, lengths=lengths).select(pack, np.array([key], dtype=np.uint64), None)

    assert (spans.start.tolist(), spans.end.tolist(), spans.num_drawn) == ([1500], [1501], 1)


def test_a_pack_without_a_sequence_has_no_span():
    spans = Rounds(ratio=0.15).select(pack_of([]), np.empty(0, dtype=np.uint64), None)

    assert len(spans.start) == 0
    assert spans.num_drawn == 0
