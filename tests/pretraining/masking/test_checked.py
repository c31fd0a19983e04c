"""What a masking of a user's own chose is looked at before compiled loops read where it says."""

from dataclasses import replace

import numpy as np
import pytest
from tests.pretraining.toy_packs import pack_of

from spanwise.errors import ConfigError
from spanwise.pretraining.masking.checked import check_spans, selected
from spanwise.pretraining.packs import Spans

PACK = pack_of([[0, 1, 1, 1, 1, 0], [0, 1, 1, 0]])


def spans(*borders, sequence=None, **changes):
    start, end = np.array(borders, dtype=np.int64).reshape(-1, 2).T
    sequence = (start >= 6).astype(np.int64) if sequence is None else np.array(sequence)
    return replace(Spans(sequence=sequence, start=start, end=end), **changes)


@pytest.mark.parametrize(
    "good",
    [
        spans(),
        spans((1, 3), (4, 5), (7, 9)),
        spans((1, 2), (2, 3), group=np.array([0, -1]), kept=-np.ones((1, 2), int)),
    ],
)
def test_spans_as_they_should_be_are_let_through(good):
    check_spans("Mine", PACK, good)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (spans((1, 99)), "tokens 1 to 99 of sequence 0, holds no token of the pack, which has 10"),
        (spans((2, 2)), "number 0, .* holds no token"),
        (spans((-2, 2)), "holds no token"),
        (spans((1, 2), sequence=[2]), "is of none of 2 sequences"),
        (spans((1, 2), sequence=[1]), "leaves its sequence"),
        (spans((4, 8)), "leaves its sequence"),
        (spans((0, 2)), "hides a special token"),
        (spans((1, 3), (2, 4)), "number 1, .* does not lie behind the one before it"),
        (spans((1, 3), (3, 4)), "merge those that touch"),
        (spans((3, 4), (1, 2)), "sort spans"),
        (spans((1, 3), start=np.array([1.0])), r"start is float64 \[1\]; expected an array of 1 int64"),
        (spans((1, 3), end=[3]), "end is list"),
        (spans((1, 3), group=np.array([4]), kept=-np.ones((1, 2), int)), "group reaches 4; `kept` has 1 rows"),
        (spans((1, 3), kept=np.zeros(3, int)), r"kept is not an int64 array \[G, 2\]"),
        ([(1, 2)], "list; expected spanwise"),
    ],
)
def test_each_way_to_be_wrong_is_named(bad, message):
    with pytest.raises(ConfigError, match=f"masking Mine returned .*{message}"):
        check_spans("Mine", PACK, bad)


def test_what_a_masking_of_ones_own_selects_is_checked():
    class Mine:
        def select(self, pack, keys, *, capacity=None):
            return spans((1, 99))

    with pytest.raises(ConfigError, match="masking Mine"):
        selected(Mine(), PACK, np.zeros(2, dtype=np.uint64))
