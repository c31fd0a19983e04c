"""`spanwise show masks`."""

import json

import pytest

from spanwise.cli.main import main

TEXT = "Super Bowl 50 was an American football game to determine the champion"


def test_a_recipe_draws_whole_words_without_any_model(capsys):
    assert main(["show", "masks", "--text", TEXT, "--times", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert all("[[" in line for line in lines[:5])
    assert len(set(lines[:5])) > 1  # each drawing is another


def test_the_recipe_is_named_as_for_the_other_commands(capsys):
    drawn = []
    for recipe in (["albert-mini"], ["--recipe", "albert-mini"], []):
        assert main(["show", "masks", *recipe, "--text", TEXT, "--json"]) == 0
        drawn.append(json.loads(capsys.readouterr().out))
    assert drawn[0] == drawn[1] and [one["recipe"] for one in drawn[1:]] == ["albert-mini", "spanbert-base"]


def test_a_recipe_without_masks_says_so(capsys):
    assert main(["show", "masks", "gpt1-mini", "--text", TEXT]) == 0
    assert "gpt1-mini hides no tokens; it learns from all of them (clm)." in capsys.readouterr().out


def test_the_budget_holds_and_the_same_seed_draws_the_same(capsys):
    drawn = []
    for _ in range(2):
        assert main(["show", "masks", "--text", TEXT, "--seed", "7", "--json"]) == 0
        drawn.append(json.loads(capsys.readouterr().out))
    assert drawn[0] == drawn[1]
    for drawing in drawn[0]["drawings"]:
        assert sum(end - start for start, end in drawing["spans"]) >= 2  # ceil(0.15 * 12)


def test_a_model_gives_the_papers_figure(run, capsys):
    assert main(["show", "masks", "--text", "Denver won the game", "--span", "2:4", "--model", str(run / "final")]) == 0
    printed = capsys.readouterr().out
    assert "MLM" in printed and "SBO" in printed and "sum" in printed


def test_the_figure_is_also_json_with_the_sum_of_both_losses(run, capsys):
    arguments = ["--text", "Denver won the game in February", "--span", "2:4", "--span", "6:7"]
    assert main(["show", "masks", *arguments, "--model", str(run / "final"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    for token in record["tokens"]:
        assert token["total"] == pytest.approx(token["mlm"] + token["sbo"])
    assert record["tokens"][0]["token"] == "won" and record["tokens"][0]["position_row"] == 0


@pytest.mark.parametrize(("span", "words"), [("9:12", "words are 1 to"), ("2-4", "5:9"), ("x:y", "5:9")])
def test_a_wrong_span_is_wrong_use(span, words, run, capsys):
    assert main(["show", "masks", "--text", "Denver won", "--span", span, "--model", str(run / "final")]) == 2
    assert words in capsys.readouterr().err


def test_a_span_without_a_model_says_what_is_missing(capsys):
    assert main(["show", "masks", "--text", TEXT, "--span", "5:9"]) == 2
    assert "--model" in capsys.readouterr().err


@pytest.mark.parametrize("given", [["--set", "masking.ratio=0.3"], ["--times", "5"], ["--seed", "1"]])
def test_options_of_drawings_are_refused_where_nothing_is_drawn(given, capsys):
    assert main(["show", "masks", "--text", TEXT, "--span", "5:9", "--model", "any", *given]) == 2
    assert f"{given[0]}" in capsys.readouterr().err


def test_the_figure_is_made_with_the_tokenizer_that_is_named(run, world, tmp_path, capsys):
    asked = ["show", "masks", "--text", "Denver won the game", "--span", "2:4", "--model", str(run / "final")]
    assert main([*asked, "--tokenizer", str(tmp_path / "none")]) == 4
    assert "none" in capsys.readouterr().err
    assert main([*asked, "--tokenizer", str(run / "final"), "--json"]) == 0
    named = capsys.readouterr().out
    assert main([*asked, "--json"]) == 0
    assert capsys.readouterr().out == named


RECIPE = """
from dataclasses import replace
from spanwise.pretraining.masking import QuestionTokens, RecurringSpans, Replacement
from spanwise.recipes import find


def asking():
    return replace(
        find("spanbert-recurring-mini"),
        masking=RecurringSpans(ratio=0.2, frequent_share=1.0),
        replacement=QuestionTokens(others=Replacement()),
    )
"""


def test_a_span_that_becomes_one_token_is_shown_as_such(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(RECIPE)
    recipe, text = f"{tmp_path / 'mine.py'}:asking", "New York is old and New York is large and it is far away"
    assert main(["show", "masks", recipe, "--text", text, "--times", "1", "--json"]) == 0
    (drawing,) = json.loads(capsys.readouterr().out)["drawings"]
    asked = [m for m, group in enumerate(drawing["groups"]) if group >= 0]
    for start, end in (drawing["spans"][m] for m in asked):
        assert drawing["seen"][start:end] == ["[QUESTION]"] + [""] * (end - start - 1)
    assert asked and max(drawing["spans"][m][1] - drawing["spans"][m][0] for m in asked) > 1
    assert main(["show", "masks", recipe, "--text", text, "--times", "1"]) == 0
    shown = capsys.readouterr().out
    assert "[[New York is -> [QUESTION] #2]]" in shown and "{{New York is #2}}" in shown
    assert "spans stand elsewhere in the text too" in shown


def test_questions_and_their_answers_have_one_colour_on_a_terminal(monkeypatch, capsys):
    text = "Denver is old and Denver is new for New York was old and New York was new"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["show", "masks", "splinter-mini", "--text", text, "--times", "1", "--json"]) == 0
    (drawing,) = json.loads(capsys.readouterr().out)["drawings"]
    assert drawing["groups"] and len(drawing["answers"]) >= len(set(drawing["groups"]))
    for (start, end), group in zip(drawing["spans"], drawing["groups"], strict=True):
        first, last = drawing["answers"][group]
        assert drawing["tokens"][start:end] == drawing["seen"][first:last]
        assert drawing["seen"][start] == "[QUESTION]"
    assert main(["show", "masks", "splinter-mini", "--text", text, "--times", "1"]) == 0
    assert "has the same colour, underlined" in " ".join(capsys.readouterr().out.split())


def test_a_store_says_which_words_are_stop_words(tiny_store, capsys):
    """All forty words of the tiny text are frequent in it, so none of its spans is worth a question."""
    text = ["--text", "the old river ran past the old river"]
    drawn = []
    for folder in (tiny_store.path, tiny_store.path / "tokenizer"):
        assert main(["show", "masks", "splinter-mini", *text, "--tokenizer", str(folder), "--json"]) == 0
        drawn.append(json.loads(capsys.readouterr().out)["drawings"])
    assert not any(drawing["spans"] for drawing in drawn[0]) and all(drawing["spans"] for drawing in drawn[1])
