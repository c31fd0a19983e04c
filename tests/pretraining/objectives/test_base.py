"""Weights of objectives are checked."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from spanwise.errors import ConfigError
from spanwise.pretraining.objectives import MaskedLM, SpanBoundary
from spanwise.pretraining.objectives.base import rows_read


@pytest.mark.parametrize("part", [MaskedLM, SpanBoundary])
@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_a_weight_that_is_no_weight_is_refused_by_name(part, weight):
    with pytest.raises(ConfigError, match="weight"):
        part(weight=weight)


def test_the_default_weights_are_those_of_the_paper():
    """No loss is off by default."""
    assert MaskedLM().weight == SpanBoundary().weight == 1.0


def reading(*rows):
    return SimpleNamespace(rows=torch.tensor(rows, dtype=torch.int64))


def test_rows_of_all_targets_are_joined_once_each_and_in_order():
    assert rows_read([reading(7, 2), reading(2, 0, 7)], torch.zeros(20)).tolist() == [0, 2, 7]


@pytest.mark.parametrize(
    "targets",
    [
        [],
        [reading(1), SimpleNamespace(num_tokens=20)],  # reads everywhere
        [reading()],  # nothing to read: every parameter is still to be reached
        [reading(*range(16))],  # most of the pack
    ],
)
def test_without_few_declared_rows_the_whole_pack_is_read(targets):
    assert rows_read(targets, torch.zeros(20)) is None
