"""Answers in English sentences."""

import pytest

from spanwise.questions.english import EnglishRules
from spanwise.questions.english.spans import dates_in


def spans(*passages):
    return {(span.text, span.kind) for s in EnglishRules().read(passages) for span in s.spans}


@pytest.mark.parametrize(
    "date",
    [
        "1859",
        "12 May 1859",
        "May 12, 1859",
        "May 1859",
        "12 May",
        "19th century",
        "late 19th century",
        "1960s",
        "44 BC",
    ],
)
def test_dates_are_taken_whole(date):
    assert [(span.text, span.kind) for span in dates_in(f"It was {date}, they say.")] == [(date, "date")]


@pytest.mark.parametrize(
    "text", ["It cost $1950 then.", "In 1950-60 it rained.", "Call 1850-1234.", "It is 12 km away."]
)
def test_prices_ranges_and_lengths_are_no_dates(text):
    assert dates_in(text) == []


def test_names_are_runs_of_capitals_without_what_opens_a_sentence():
    found = spans("The old baker met Otto von Lam and King Karl of Ruland at the University of Brenn.")
    assert {text for text, kind in found if kind != "recurring"} == {
        "Otto von Lam",
        "King Karl of Ruland",
        "University of Brenn",
    }


def test_a_word_that_the_text_writes_small_is_no_name_at_the_start_of_a_sentence():
    assert spans("Bakers sing. We hear bakers.") == set()
    assert ("Trondelag", "name") in spans("Trondelag is wide.")


def test_kinds_come_from_lists_and_from_clues_anywhere_in_the_document():
    found = dict(
        spans("Mary Holt came from Peru. Later Holt sang. Zug said no. They live in Ulm, near Ulm and at Ulm.")
    )
    assert found["Mary Holt"] == found["Holt"] == found["Zug"] == "person"
    assert found["Peru"] == found["Ulm"] == "place"


def test_numbers_need_what_they_count():
    found = spans("It has 1,200 plants, three small bridges, 12 and 5 million euros. No. 7 boats. 30 is even.")
    assert {text for text, kind in found if kind == "number"} == {"1,200", "three", "5 million"}


def test_a_number_is_told_as_the_text_writes_it():
    (sentence,) = EnglishRules().read(["It cost 5million euros, or 6 million dollars, to three towns."])
    numbers = [span for span in sentence.spans if span.kind == "number"]
    assert [span.text for span in numbers] == ["5million", "6 million", "three"]
    assert all(sentence.text[span.start : span.end] == span.text for span in numbers)


def test_nouns_between_words_of_grammar_are_recurring_spans():
    assert ("market square", "recurring") in spans("They built a market square in the town.")


@pytest.mark.parametrize("text", ["The IPv6 net.", "We saw St. Peter there.", "An English tea."])
def test_parts_of_words_and_adjectives_of_peoples_are_no_names(text):
    assert not {found for found, _ in spans(text)} & {"IPv", "Peter", "English"}
