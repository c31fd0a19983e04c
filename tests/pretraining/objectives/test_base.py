"""Weights of objectives are checked."""

from __future__ import annotations

import pytest

from spanwise.errors import ConfigError
from spanwise.pretraining.objectives import MaskedLM, SpanBoundary


@pytest.mark.parametrize("part", [MaskedLM, SpanBoundary])
@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_a_weight_that_is_no_weight_is_refused_by_name(part, weight):
    with pytest.raises(ConfigError, match="weight"):
        part(weight=weight)


def test_the_default_weights_are_those_of_the_paper():
    """7B-10: no loss is off by default."""
    assert MaskedLM().weight == SpanBoundary().weight == 1.0
