"""YAML is read as plain 1.2 values; what could surprise or harm is an error."""

import pytest

from spanwise.config.plain_yaml import load_plain
from spanwise.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("1E5", 1e5),
        ("0.3", 0.3),
        (".5", 0.5),
        ("-2.5e+3", -2500.0),
        ("10", 10),
        ("-3", -3),
        ("1_000", 1000),
        ("0123", "0123"),
        ("true", True),
        ("null", None),
        ("~", None),
        ("", None),
        ("on", "on"),
        ("no", "no"),
        ("2026-01-01", "2026-01-01"),
        ("1:30", "1:30"),
        ("[1, 2.5, word]", [1, 2.5, "word"]),
        ("a: {b: 1}", {"a": {"b": 1}}),
    ],
)
def test_scalars_are_what_they_look_like(text, value):
    found = load_plain(text)

    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1\nb: *x",
        "a: 1\na: 2",
        "!!python/object/apply:os.system ['true']",
        "a: [",
        "[" * 1500,
        "? [a, b]\n: 3",
        "a:\n  ? {b: c}\n  : 3",
        "x" * 1_000_001,
    ],
)
def test_aliases_repeated_names_tags_and_bombs_are_refused(text):
    with pytest.raises(ConfigError):
        load_plain(text)
