"""Questions from statements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.questions.english.asking import ask, holds
from spanwise.questions.parts import Span


def asked(text, answer, kind, unit="", cloze=False):
    start = text.index(answer)
    return ask(text, Span(start, start + len(answer), answer, kind, unit), frozenset({"the", "bakers"}), cloze=cloze)


@pytest.mark.parametrize(
    ("text", "answer", "kind", "question"),
    [
        ("Darwin published a book on worms in 1881.", "Darwin", "person", "Who published a book on worms in 1881?"),
        ("Darwin published a book on worms in 1881.", "1881", "date", "When did Darwin publish a book on worms?"),
        ("In 1881, Darwin published a book on worms.", "1881", "date", "When did Darwin publish a book on worms?"),
        ("The mill was built in Ulm by bakers.", "Ulm", "place", "Where was the mill built by bakers?"),
        ("The mill was sold to Anna Holt in May.", "Anna Holt", "person", "Who was the mill sold to in May?"),
        ("The club has its home in the Grand Palace.", "Grand Palace", "name", "In what does the club have its home?"),
        ("Bakers met the king at the Grand Palace.", "Grand Palace", "name", "At what did bakers meet the king?"),
        ("Holt was born in Ulm and died in Bern.", "Bern", "place", "Where did Holt die?"),
        ("The mill has used water since 1881.", "1881", "date", "Since what year has the mill used water?"),
        ("The bridge has been closed until 1881.", "1881", "date", "Until what year has the bridge been closed?"),
    ],
)
def test_questions_turn_the_verb_and_bring_the_asking_word_to_the_front(text, answer, kind, question):
    assert asked(text, answer, kind) == question


def test_numbers_are_asked_for_with_what_they_count():
    assert asked("The league has 12 strong teams in Europe.", "12", "number", "teams") == (
        "How many strong teams does the league have in Europe?"
    )
    assert asked("There are 12 teams in the northern league.", "12", "number", "teams") == (
        "How many teams are there in the northern league?"
    )


def test_clozes_hide_the_answer_in_its_clause():
    text = "However, Darwin (then old) published a book on worms in 1881, which sold well."
    assert asked(text, "1881", "date", cloze=True) == "Darwin published a book on worms in ___."
    assert asked(text, "Darwin", "person", cloze=True) == "___ published a book on worms in 1881."
    assert asked("In 1881, Darwin wrote a book on worms.", "1881", "date", cloze=True) == (
        "In ___, Darwin wrote a book on worms."
    )


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("He published a book on worms in Ulm.", "Ulm"),
        ("This was sold to them by people in Ulm.", "Ulm"),
        ("The people of Ulm call the river near Ulm long.", "Ulm"),
        ("Its owner sold the mill in Ulm early.", "Ulm"),
    ],
)
@pytest.mark.parametrize("cloze", [True, False])
def test_pronouns_without_a_name_and_answers_that_stand_twice_are_not_asked(text, answer, cloze):
    assert asked(text, answer, "place", cloze=cloze) is None


WORDS = [
    "Darwin",
    "Holt",
    "Ulm",
    "the",
    "mill",
    "book",
    "was",
    "built",
    "sold",
    "wrote",
    "in",
    "by",
    "of",
    "and",
    "which",
    "1881",
    "12",
    "teams",
    ",",
    "(",
    ")",
    "has",
    "his",
    "baker",
]


@given(st.lists(st.sampled_from(WORDS), min_size=3, max_size=16), st.data(), st.booleans())
def test_no_sentence_breaks_the_rules_and_no_question_holds_its_answer(tokens, data, cloze):
    place = data.draw(st.integers(0, len(tokens) - 1))
    start = len(" ".join(tokens[:place])) + (place > 0)
    kind = data.draw(st.sampled_from(["person", "place", "date", "number", "name", "recurring"]))
    span = Span(start, start + len(tokens[place]), tokens[place], kind, "teams" if kind == "number" else "")
    question = ask(" ".join(tokens) + ".", span, frozenset(), cloze=cloze)
    if question is not None:
        assert not holds(question, tokens[place])
        assert question[0].isupper() or not question[0].isalpha()
        assert question.endswith("." if cloze else "?")
        assert "  " not in question


def test_an_answer_is_held_as_words_of_its_own():
    assert holds("The ULM mill", "Ulm")
    assert not holds("Ulmer mills", "Ulm")
