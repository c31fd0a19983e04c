"""A step owns the packs k * S to (k + 1) * S, shared among the processes of a run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from spanwise.errors import ConfigError
from spanwise.pretraining.mixtures.steps import PackedSteps


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
