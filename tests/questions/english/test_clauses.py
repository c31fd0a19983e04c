"""The clause around an answer."""

import pytest

from spanwise.questions.english.clauses import clause_of
from spanwise.questions.english.tokens import tokens_of


def clause(text, answer):
    start = text.index(answer)
    found = clause_of(tokens_of(text), start, start + len(answer))
    return found and (" ".join(t.text for t in found.front), " ".join(t.text for t in found.tokens))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Holt, a baker from Ulm, sold the mill in 1850.", "Holt sold the mill in 1850"),
        ("However, Holt (a baker) sold the mill in 1850, which nobody knew.", "Holt sold the mill in 1850"),
        ("Although poor, Holt sold the mill in 1850; he left.", "Holt sold the mill in 1850"),
        ("When Holt sold the mill in 1850 they wept.", "Holt sold the mill in 1850 they wept"),
        ("Anna was rich, but Holt sold the mill in 1850.", "Holt sold the mill in 1850"),
    ],
)
def test_what_stands_around_it_is_left_out(text, kept):
    assert clause(text, "1850") == ("", kept)


def test_an_adverbial_in_front_that_holds_the_answer_is_kept_apart():
    assert clause("In 1850, Holt sold the old mill.", "1850") == ("In 1850", "Holt sold the old mill")


@pytest.mark.parametrize(
    "text",
    [
        "Holt sold the mill (in 1850) to Anna Lee.",
        'Holt said "we sold it in 1850" to Anna.',
        "Sold in 1850.",
        "Holt sold the mill, a house built in 1850, to Anna.",
        "Designed as a mill and sold in 1850 to Anna.",
    ],
)
def test_where_no_plain_clause_holds_the_answer_there_is_none(text):
    assert clause(text, "1850") is None


def test_a_comma_inside_the_answer_parts_nothing():
    assert clause("Holt sold the old mill on May 12, 1850.", "May 12, 1850") == (
        "",
        "Holt sold the old mill on May 12 , 1850",
    )
