"""A cross of parts is a recipe of a few lines."""

import inspect

import pytest

from spanwise import recipes
from spanwise.config import difference
from spanwise.recipes import crosses

CROSSES = {
    "electra_spans_mini": ("electra_mini", {"masking", "replacement"}),
    "spanbert_recurring_mini": ("spanbert_mini", {"masking"}),
    "albert_spans_mini": ("albert_mini", {"masking", "replacement", "objectives"}),
}


@pytest.mark.parametrize("name", CROSSES)
def test_a_cross_changes_the_parts_it_names_and_takes_ten_lines(name):
    parent, parts = CROSSES[name]
    cross, mini = getattr(recipes, name)(), getattr(recipes, parent)()
    assert {path.split(".")[0] for path, _, _ in difference(cross, mini)} == {"name", *parts}
    assert len(inspect.getsource(getattr(crosses, name)).splitlines()) <= 11
