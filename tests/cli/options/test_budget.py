"""Lengths of time on the command line."""

import pytest

from spanwise.cli.options.budget import format_seconds, parse_budget
from spanwise.errors import ConfigError


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("20min", 1200),
        ("90s", 90),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("1h 5min 3s", 3903),
        ("2 hours", 7200),
        ("8M", 480),
    ],
)
def test_a_budget_is_read_as_people_write_it(words, seconds):
    assert parse_budget(words) == seconds


@pytest.mark.parametrize("words", ["20", "", "soon", "20 parsecs", "-5min", "0s", "min", "1h30"])
def test_anything_else_is_refused_with_an_example(words):
    with pytest.raises(ConfigError, match="20min"):
        parse_budget(words)


def test_seconds_are_shown_in_the_largest_units_that_matter():
    assert [format_seconds(s) for s in (0.4, 59, 60, 125, 3600, 5400)] == [
        "0 s", "59 s", "1 min", "2 min 5 s", "1 h 0 min", "1 h 30 min",
    ]  # fmt: skip
