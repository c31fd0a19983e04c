"""Answers as a terminal and a pipe show them."""

from spanwise.asking.ask import Asked, FoundAnswer
from spanwise.cli.asking.show import NOTHING, place_of, show_asked

ANSWER = FoundAnswer(
    answer="1850",
    score=0.5,
    file="a.pdf",
    line=3,
    page=7,
    sentence="Founded\nin 1850 \x1b[31mby Anna.",
    start=11,
    end=15,
)


def test_a_sentence_is_one_line_marked_and_steers_no_terminal(capsys):
    show_asked(Asked(question="When [bold]?", answers=(ANSWER,)))
    said = capsys.readouterr().out
    assert "When [bold]?" in said and "Founded in >>1850<<  [31mby Anna." in said and "\x1b" not in said
    assert "1850  0.50  a.pdf:3 (page 7)" in said


def test_places_have_a_page_where_there_is_one():
    assert place_of(ANSWER) == "a.pdf:3 (page 7)"


def test_nothing_found_is_said(capsys):
    show_asked(Asked(question="Who?", answers=()))
    assert NOTHING in capsys.readouterr().out
