"""A step owns the packs k * S to (k + 1) * S, shared among the processes of a run."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from toy_packs import with_parts

from spanwise.data.order import permutation
from spanwise.errors import ConfigError
from spanwise.pretraining.collate import Collator
from spanwise.pretraining.formats import SentencePair, SingleSegment
from spanwise.pretraining.masking import GeometricSpans, Replacement
from spanwise.pretraining.mixtures.steps import BlockStream, PackedSteps
from spanwise.pretraining.objectives import MaskedLM


class Numbers(PackedSteps):
    """Packs that are their own numbers."""

    def masked(self, pack):
        return pack


def steps(packs_per_step: int) -> Numbers:
    return Numbers(SimpleNamespace(batch=lambda pack: f"batch {pack}"), packs_per_step)


def test_steps_take_packs_in_order_and_ranks_share_them():
    source = steps(4)
    assert source.masked_step(3) == [12, 13, 14, 15]
    assert [source.masked_step(3, rank, 3) for rank in range(3)] == [[12, 15], [13], [14]]
    assert source.step(0, 1, 2) == ["batch 1", "batch 3"]


def test_a_step_without_a_pack_is_refused():
    with pytest.raises(ConfigError, match="packs_per_step must be at least 1, got 0"):
        steps(0)


def stream_of(store, part, num_kept=8, **options) -> BlockStream:
    parts = dict(masking=GeometricSpans(), replacement=Replacement(), objectives={"mlm": MaskedLM()}, seed=3)
    return BlockStream(with_parts(Collator, store, format=part, **{**parts, **options}), num_kept=num_kept)


@pytest.mark.parametrize("part", [SingleSegment(max_length=48), SentencePair(max_length=48)])
def test_places_run_through_every_epoch_in_its_own_order(part, store):
    stream = stream_of(store, part)
    tables = [part.blocks(store, 3, epoch) for epoch in range(3)]
    orders = [permutation(3, epoch, table.num_blocks) for epoch, table in enumerate(tables)]
    first, second = (table.num_blocks for table in tables[:2])

    found = stream.rows(first - 2, first + second + 1)

    assert [epoch for epoch, _ in found] == [0, 1, 2]
    assert [rows.tolist() for _, rows in found] == [orders[0][-2:].tolist(), orders[1].tolist(), orders[2][:1].tolist()]
    assert stream.locate(first) == (1, 0) and stream.locate(first + second - 1) == (1, second - 1)
    assert stream.passed(first + second // 2) == pytest.approx(1 + (second // 2) / second)


def test_an_epoch_far_back_is_laid_out_again_alike(store):
    stream = stream_of(store, SentencePair(max_length=48), num_kept=2)
    before = stream.epoch(0)
    for epoch in range(5):
        stream.epoch(epoch)

    again = stream.epoch(0)

    assert again is not before
    np.testing.assert_array_equal(again.order, before.order)
    np.testing.assert_array_equal(again.table.second_starts, before.table.second_starts)


def test_static_data_repeats_its_blocks_in_another_order(store):
    stream = stream_of(store, SentencePair(max_length=48), num_maskings=2)

    np.testing.assert_array_equal(stream.epoch(0).table.second_starts, stream.epoch(2).table.second_starts)
    assert not np.array_equal(stream.epoch(0).order, stream.epoch(2).order)
