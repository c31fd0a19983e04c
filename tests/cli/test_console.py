"""What is printed: plain in a pipe, JSON whole, nothing read as markup."""

import json

from spanwise.cli.console import print_json, print_pairs, print_table, say, show_value


def test_json_is_one_object_with_full_precision_and_hangul(capsys):
    print_json({"f1": 1 / 3, "words": "한국어"})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"f1": 1 / 3, "words": "한국어"}
    assert "한국어" in printed


def test_numbers_that_are_not_finite_are_null(capsys):
    print_json({"sigma": float("nan"), "rows": [(float("inf"), 2)]})
    assert json.loads(capsys.readouterr().out) == {"sigma": None, "rows": [[None, 2]]}


def test_tables_in_a_pipe_carry_no_colours_and_break_no_line(capsys):
    print_table(["name", "steps"], [["a" * 120, 1_000_000], ["b", 2]])
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert ["a" * 120 in line and "1,000,000" in line for line in printed.splitlines()].count(True) == 1


def test_text_of_the_user_is_never_read_as_markup(capsys):
    say("[red]not a colour[/red] [MASK]")
    print_pairs([("text", "[bold]as it is[/bold] [CLS]")])
    printed = capsys.readouterr().out
    assert "[red]not a colour[/red] [MASK]" in printed
    assert "[bold]as it is[/bold] [CLS]" in printed


def test_values_are_shown_as_people_read_them():
    assert [show_value(v) for v in (None, True, 12345, 0.123456, 1234567.0, "x")] == [
        "-", "yes", "12,345", "0.1235", "1,234,567", "x",
    ]  # fmt: skip
