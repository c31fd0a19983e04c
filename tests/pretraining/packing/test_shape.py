"""The shape of all packs follows from what closes a pack and from what the tried ones need."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spanwise.pretraining.packing.shape import PackShape, doubled, grown, tried_sizes

SHAPE = PackShape(
    tokens=8192, sequences=40, targets=None, longest=512, shortens=True,
    tried={"tokens": (7600.0, 7700.0, 7800.0), "targets": (800.0,), "pointers": (300.0,), "pointing": (17.0,),
           "pointers_of_one": (33.0, 12.0)},
)  # fmt: skip


def test_what_varies_has_three_deviations_of_room():
    found = SHAPE.capacities()
    assert found.tokens == 64 * -(-(7700 + 3 * 100 * (1 + 1 / 3) ** 0.5) // 64) == 8064 and found.most_tokens == 8192
    assert (found.targets, found.pointers, found.pointing, found.pointers_of_one) == (832, 320, 24, 64)
    assert found.sequences == 40 + 16


def test_joined_packs_vary_less_and_parts_of_one_more():
    whole, joined, part = (SHAPE.capacities(share) for share in (1.0, 16.0, 0.25))
    assert joined.tokens < 16 * whole.tokens and joined.tokens >= 16 * 7700 + 3 * 100 * (16 + 16**2 / 3) ** 0.5
    assert part.tokens > whole.tokens / 4 and part.tokens <= part.most_tokens == 2048
    assert part.targets == 256 and part.sequences == 40 + 4
    assert joined.sequences == 16 * 40 + 256 and joined.pointing <= 16 * 40


def test_without_a_replacement_that_shortens_packs_have_what_closes_them():
    plain = replace(SHAPE, shortens=False, targets=1280)
    assert (plain.capacities().tokens, plain.capacities().targets) == (8192, 1280)
    assert plain.capacities(4.0).targets == 4 * 1280 and plain.capacities(0.25).targets == 320 + 64
    twice = replace(plain, tried={"targets": (1300.0,)})  # an objective with two targets per hidden token
    assert twice.capacities().targets == 2560
    assert replace(plain, tried={"sequences": (80.0,)}).capacities().sequences == 80 + 16


@pytest.mark.parametrize("share", [0.1, 1.0, 3.0])
def test_nothing_measured_leaves_room_for_something(share):
    found = replace(SHAPE, shortens=False, tried={}).capacities(share)
    assert min(vars(found).values()) >= 1


def test_a_pack_that_needs_more_gets_it():
    usual = SHAPE.capacities()
    assert grown(usual, {"tokens": 7000, "targets": 832}) == usual
    more = grown(usual, {"tokens": 8065, "targets": 833, "pointers": 1500})
    assert (more.tokens, more.targets, more.pointers) == (8192, 1664, 2560)
    assert doubled(3, 20) == 24


def test_packs_are_compared_as_if_each_were_full():
    sizes = [
        {"tokens": 80, "pointers_of_one": 5},
        {"tokens": 60, "pointers_of_one": 4},
        {"tokens": 3, "pointers_of_one": 1},
    ]
    assert tried_sizes(sizes, [1.0, 0.75, 0.04]) == {"tokens": (80.0, 80.0), "pointers_of_one": (5.0, 4.0)}
    assert tried_sizes(sizes, [1.0, 0.75, 0.04], as_they_are=["tokens"])["tokens"] == (80.0, 60.0)
    assert tried_sizes(sizes[2:], [0.04])["tokens"] == pytest.approx((75.0,))
