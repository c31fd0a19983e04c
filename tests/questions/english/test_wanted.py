"""The phrase that asks."""

import pytest

from spanwise.questions.english.tokens import tokens_of
from spanwise.questions.english.wanted import wanted_of
from spanwise.questions.parts import Span


def wanted(text, answer, kind, unit=""):
    start = text.index(answer)
    end = start + len(answer)
    before, after = tokens_of(text[:start]), tokens_of(text[end:])
    found = wanted_of(before, Span(start, end, answer, kind, unit), after)
    return found and (found.phrase, " ".join(t.text for t in found.before), " ".join(t.text for t in found.after))


@pytest.mark.parametrize(
    ("text", "answer", "kind", "phrase"),
    [
        ("sold by Anna Holt in May", "Anna Holt", "person", ("who", "sold by", "in May")),
        ("sold by the baker Anna Holt", "Anna Holt", "person", ("which baker", "sold by", "")),
        ("the Apollo program ended", "Apollo", "name", ("which program", "", "ended")),
        ("they read Holt's letters to us", "Holt", "person", ("whose letters", "they read", "to us")),
        ("born in the 19th century", "19th century", "date", ("what century", "born in", "")),
        ("born in 1850", "1850", "date", ("what year", "born in", "")),
        ("signed on 12 May 1850", "12 May 1850", "date", ("what date", "signed on", "")),
        ("called the market square", "market square", "recurring", ("what", "called", "")),
    ],
)
def test_phrases_follow_the_kind_and_the_words_beside_it(text, answer, kind, phrase):
    assert wanted(text, answer, kind) == phrase


def test_numbers_take_what_they_count_and_lose_what_makes_them_vague():
    assert wanted("it has more than 40 green trees in May", "40", "number", "trees") == (
        "how many green trees",
        "it has",
        "in May",
    )
    assert wanted("about 40 percent of it", "40", "number", "percent") == ("what percentage", "", "of it")


@pytest.mark.parametrize(
    ("text", "answer", "kind"),
    [
        ("Watson and Crick found it", "Watson", "person"),
        ("they met Gomul in May", "Gomul", "name"),
        ("with old letters or printed books", "old letters", "recurring"),
        ("found by Watson and Crick", "Crick", "person"),
        ("the 1850 census", "1850", "date"),
        ("from 1850 to 1860", "1850", "date"),
        ("she said Holt sold it", "Holt", "person"),
        ("his old school", "old school", "recurring"),
        ("a Babylonian temple", "Babylonian", "name"),
    ],
)
def test_lists_ranges_and_subjects_of_inner_clauses_are_not_asked_for(text, answer, kind):
    assert wanted(text, answer, kind) is None


def test_years_ago_are_no_number_to_ask_for():
    assert wanted("it sank 40 years ago", "40", "number", "years") is None
