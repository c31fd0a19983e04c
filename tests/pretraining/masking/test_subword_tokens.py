"""Subword masking hides exactly the budget, every token alike, none twice."""

from __future__ import annotations

import numpy as np
import pytest
from toy_packs import hidden_of, pack_of, packs_of

from spanwise.errors import ConfigError
from spanwise.pretraining.masking import SubwordTokens
from spanwise.runtime.seed import keys_for


def keys_of(pack, epoch: int = 0):
    return keys_for(0, "masking", epoch, pack.block_ids)


@pytest.mark.parametrize("n", [1, 2, 20, 510])
def test_exactly_the_budget_is_hidden(n):
    pack = packs_of(50, n)

    hidden = hidden_of(pack, SubwordTokens().select(pack, keys_of(pack)))

    assert (np.add.reduceat(hidden, pack.borders[:-1]) == -(-15 * n // 100)).all()
    assert not hidden[~pack.maskable].any()


def test_every_token_is_hidden_alike():
    pack = packs_of(1, 40)
    counts = sum(hidden_of(pack, SubwordTokens().select(pack, keys_of(pack, e))).astype(int) for e in range(3000))

    assert np.abs(counts[pack.maskable] - 450).max() < 4.5 * np.sqrt(3000 * 0.15 * 0.85)


@pytest.mark.parametrize("ratio", [0.0, 0.5, 0.95, 1.0])
def test_odd_sequences_and_ratios_end(ratio):
    pack = pack_of([[], [0], [0, 2, 0], [2] * 9, [0, 1, *[2] * 39, 0], [0, 1, 0, 1, 0]])

    hidden = hidden_of(pack, SubwordTokens(ratio=ratio).select(pack, keys_of(pack)))

    assert hidden.sum() == sum(np.ceil(ratio * n) for n in (1, 9, 40, 2))


def test_a_capacity_of_the_budgets_is_enough_and_less_is_refused():
    pack = packs_of(3, 20)

    assert SubwordTokens().select(pack, keys_of(pack), capacity=9).num_cut == 0
    with pytest.raises(ConfigError, match="max_targets"):
        SubwordTokens().select(pack, keys_of(pack), capacity=8)


def test_streams_never_change_between_releases():
    pack = pack_of([[0, *[1, 1, 2, 1, 1, 2, 2, 1] * 5, 0]])

    spans = SubwordTokens().select(pack, keys_of(pack))

    assert list(zip(spans.start.tolist(), spans.end.tolist(), strict=True)) == [(6, 7), (15, 17), (21, 23), (37, 38)]
