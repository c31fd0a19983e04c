"""The alias table draws exactly the law it was built from."""

from __future__ import annotations

import numpy as np
import pytest
from toy_packs import columns_of

from spanwise.pretraining.masking.alias import AliasTable, draw
from spanwise.runtime.seed import mix


def implied(table: AliasTable, size: int) -> np.ndarray:
    """The law the columns stand for, without drawing."""
    threshold, value, other = columns_of(table)
    share = threshold / 2.0**64
    law = np.bincount(value, weights=share, minlength=size)
    return (law + np.bincount(other, weights=1 - share, minlength=size)) / len(value)


@pytest.mark.parametrize("size", [1, 2, 10, 30_522])
def test_the_columns_stand_for_the_weights(size):
    weights = np.random.default_rng(size).pareto(1.0, size) + 1e-9

    np.testing.assert_allclose(implied(AliasTable.from_weights(weights), size), weights / weights.sum(), atol=1e-12)


def test_a_value_of_weight_zero_is_in_no_column():
    weights = np.array([0.0, 0.1, 0.0, 0.7, 0.2, 0.0])

    table = AliasTable.from_weights(weights)

    _, value, other = columns_of(table)
    assert set(value) | set(other) == {1, 3, 4}


def test_draws_come_from_the_bits_alone():
    table = AliasTable.from_weights(np.array([1.0, 2.0, 3.0]))

    drawn = [draw(table.columns, np.uint64(mix(np.uint64(7), c))) for c in range(3000)]

    assert drawn == [draw(table.columns, np.uint64(mix(np.uint64(7), c))) for c in range(3000)]
    np.testing.assert_allclose(np.bincount(drawn) / 3000, [1 / 6, 2 / 6, 3 / 6], atol=0.04)


@pytest.mark.parametrize("weights", [[], [0.0], [-1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_weights_that_are_no_law_are_refused(weights):
    with pytest.raises(ValueError, match="at least one of them above 0"):
        AliasTable.from_weights(np.array(weights))
