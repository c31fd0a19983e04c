"""A mixture of maskings: every sequence is masked as one of its schemes would mask it, as often as the shares say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from toy_packs import hidden_of, pack_of, with_ids

from spanwise.config import from_record, override, to_record
from spanwise.errors import ConfigError
from spanwise.pretraining.masking import (
    GeometricSpans,
    MaskingMixture,
    NoMasking,
    RecurringGroups,
    RecurringSpans,
    SubwordTokens,
    TwoMaskings,
)
from spanwise.pretraining.masking.base import bound, budgets, num_maskable
from spanwise.pretraining.masking.mixture import OWN, of_sequences
from spanwise.recipes import spanbert_nano
from spanwise.runtime.seed import child_key, keys_for

SPANS_AND_PIECES = MaskingMixture(
    schemes={"spans": GeometricSpans(), "pieces": SubwordTokens()}, shares={"spans": 0.25, "pieces": 0.75}
)


@pytest.fixture
def pack():
    """200 sequences of 12 to 60 tokens with words of one to three."""
    draw = np.random.default_rng(0)
    kinds = []
    for _ in range(200):
        words = [[1] + [2] * int(draw.integers(0, 3)) for _ in range(int(draw.integers(10, 20)))]
        kinds.append([0, *(kind for word in words for kind in word), 0])
    return pack_of(kinds)


def keys_of(pack, seed: int = 0) -> np.ndarray:
    return keys_for(seed, "masking", 0, pack.block_ids)


def single(pack, scheme, keys, row):
    """The spans of one sequence alone, from its own start."""
    own = np.array([child_key(keys[row], OWN)], dtype=np.uint64)
    found = scheme.select(of_sequences(pack, np.array([row])), own)
    return list(zip(found.start.tolist(), found.end.tolist(), strict=True))


def test_each_sequence_is_masked_by_one_of_the_schemes_as_often_as_its_share(pack):
    keys = keys_of(pack)
    found = SPANS_AND_PIECES.select(pack, keys)
    by_spans = 0
    for row in range(200):
        first = pack.borders[row]
        inside = found.sequence == row
        here = list(zip((found.start[inside] - first).tolist(), (found.end[inside] - first).tolist(), strict=True))
        ways = [here == single(pack, scheme, keys, row) for scheme in SPANS_AND_PIECES.schemes.values()]
        assert any(ways)
        by_spans += ways[0] and not ways[1]
    assert 30 <= by_spans <= 70  # a quarter of 200


def test_spans_are_sorted_disjoint_and_inside_their_sequences(pack):
    found = SPANS_AND_PIECES.select(pack, keys_of(pack))
    assert (found.start[1:] >= found.end[:-1]).all() and (found.end > found.start).all()
    assert (found.start >= pack.borders[found.sequence]).all()
    assert (found.end <= pack.borders[found.sequence + 1]).all()
    assert pack.maskable[hidden_of(pack, found)].all()


def test_a_sequence_draws_the_same_in_every_pack(pack):
    keys = keys_of(pack)
    whole = SPANS_AND_PIECES.select(pack, keys)
    rows = np.array([3, 50, 120])
    part = SPANS_AND_PIECES.select(of_sequences(pack, rows), keys[rows])
    lengths = np.diff(pack.borders)[rows]
    begins = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    for number, row in enumerate(rows):
        a, b = whole.sequence == row, part.sequence == number
        assert (whole.start[a] - pack.borders[row]).tolist() == (part.start[b] - begins[number]).tolist()


@pytest.mark.parametrize("is_reversed", [False, True])  # the scheme that may overshoot first, and last
def test_a_capacity_is_kept_and_every_sequence_has_its_budget(pack, is_reversed):
    wanted = budgets(0.15, np.add.reduceat(pack.maskable, pack.borders[:-1], dtype=np.int64))
    total = int(wanted.sum())
    mixture = (
        MaskingMixture(schemes=dict(reversed(SPANS_AND_PIECES.schemes.items()))) if is_reversed else SPANS_AND_PIECES
    )
    for room in (0, 3, 20):
        for seed in range(20):
            found = mixture.select(pack, keys_of(pack, seed), capacity=total + room)
            hidden = np.bincount(found.sequence, found.end - found.start, minlength=200)
            assert hidden.sum() <= total + room
            assert (hidden >= wanted).all()
    with pytest.raises(ConfigError, match="raise max_targets"):
        SPANS_AND_PIECES.select(pack, keys_of(pack), capacity=total - 1)


def test_it_is_a_part_like_any_other(vocabulary, pack):
    assert from_record(to_record(SPANS_AND_PIECES), [MaskingMixture, GeometricSpans, SubwordTokens]) == SPANS_AND_PIECES
    recurring = MaskingMixture(schemes={"recurring": RecurringSpans(), "pieces": SubwordTokens()})
    ready = bound(recurring, vocabulary)
    assert ready.ratio == 0.15 and len(ready.select(pack, keys_of(pack)).start)
    assert SPANS_AND_PIECES.gives == {"spans", "lone_spans"}


def test_groups_of_one_scheme_stay_groups_beside_the_spans_of_another():
    """Sequences of three words over and over: some have groups, the others pieces without one."""
    pack = with_ids(pack_of([[0, *[1] * 30, 0]] * 60), np.tile([2, *[10, 11, 12] * 10, 2], 60))
    mixture = MaskingMixture(schemes={"pieces": SubwordTokens(), "groups": RecurringGroups()})
    assert mixture.gives == {"spans", "lone_spans", "groups"}

    spans = mixture.select(pack, keys_of(pack))

    has_group = np.bincount(spans.sequence, spans.group >= 0, minlength=60) > 0
    assert 15 < has_group.sum() < 45 and (spans.group[has_group[spans.sequence]] >= 0).all()
    assert len({(s, g) for s, g in zip(spans.sequence, spans.group, strict=True) if g >= 0}) == len(
        set(spans.group[spans.group >= 0])
    )
    for m in np.flatnonzero(spans.group >= 0):
        first, last = spans.kept[spans.group[m]]
        assert pack.borders[spans.sequence[m]] < first < last < pack.borders[spans.sequence[m] + 1]
        assert pack.input_ids[first:last].tolist() == pack.input_ids[spans.start[m] : spans.end[m]].tolist()


@pytest.mark.parametrize(
    ("schemes", "shares", "told"),
    [
        ({"a": GeometricSpans()}, None, "two maskings or more, got 1"),
        ({"a": GeometricSpans(), "b": "spans"}, None, "schemes.b is 'spans', which is no masking"),
        ({"a": GeometricSpans(), "b": SubwordTokens(ratio=0.3)}, None, "one ratio, got 0.15, 0.3"),
        ({"a": GeometricSpans(), "b": NoMasking()}, None, "one ratio"),
        ({"a": GeometricSpans(), "b": SubwordTokens()}, {"a": 1.0}, "each of a, b a number"),
        ({"a": GeometricSpans(), "b": SubwordTokens()}, {"a": 1.0, "c": 1.0}, "each of a, b a number"),
        ({"a": GeometricSpans(), "b": SubwordTokens()}, {"a": 1.0, "b": 0.0}, r"shares\.b cannot be 0\.0"),
    ],
)
def test_what_can_not_be_mixed_is_refused(schemes, shares, told):
    with pytest.raises(ConfigError, match=told):
        MaskingMixture(schemes=schemes, shares=shares)


def test_a_value_of_one_scheme_can_be_set():
    changed = override(spanbert_nano(), ["masking.schemes.spans.p=0.5"])
    assert changed.masking.schemes["spans"].p == 0.5 and changed.masking.schemes["pieces"] == SubwordTokens(ratio=0.3)


def test_what_later_schemes_need_is_kept_free_where_they_are_made_of_two(pack):
    both = TwoMaskings(first=GeometricSpans(ratio=0.01), then=SubwordTokens())  # whole words pass the first budget
    mixture = MaskingMixture(schemes={"one": both, "other": replace(both, then=GeometricSpans())})
    num_maskable_S = num_maskable(pack)
    assert mixture.least_room(num_maskable_S).tolist() == both.least_room(num_maskable_S).tolist()
    room = int(mixture.least_room(num_maskable_S).sum())
    for seed in range(3):
        assert hidden_of(pack, mixture.select(pack, keys_of(pack, seed), capacity=room)).sum() <= room
