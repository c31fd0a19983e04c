"""Masked text reads like text, in the terminal and on the page, and says what the model saw."""

import io

from rich.console import Console

from spanwise.reporting.spans import highlight_answer, join_pieces, make_pieces, terminal_text

TOKENS = ["The", "old", "##est", "bridge", "(", "1890", ")", "fell", "."]


def make(spans=((1, 4), (7, 8)), seen=None):
    seen = seen or ["The", "[MASK]", "[MASK]", "[MASK]", "(", "1890", ")", "fell", "."]
    return make_pieces(TOKENS, list(spans), seen)


def test_pieces_join_to_readable_text_with_one_run_a_span():
    runs = join_pieces(make())

    assert "".join((" " if run.space else "") + run.text for run in runs) == "The oldest bridge (1890) fell."
    assert [(run.text, run.span) for run in runs if run.span is not None] == [("oldest bridge", 0), ("fell", 1)]


def test_what_the_model_sees_is_told_apart():
    seen = ["The", "cat", "##s", "ran", "(", "1890", ")", "fell", "."]
    runs = {run.text: run for run in join_pieces(make(seen=seen))}

    assert runs["oldest bridge"].shown == "random"
    assert runs["oldest bridge"].seen == "cats ran"
    assert runs["fell"].shown == "unchanged"
    assert {run.shown for run in join_pieces(make())} == {"visible", "mask", "unchanged"}


def test_the_terminal_shows_the_same_words_in_colour():
    console = Console(force_terminal=True, width=200, record=True, file=io.StringIO())
    console.print(terminal_text(make()))

    assert console.export_text(clear=False).strip() == "The oldest bridge (1890) fell."
    assert "\x1b[" in console.export_text(styles=True)


def test_a_question_has_the_colour_of_its_answer():
    tokens = ["New", "York", "is", "not", "old", "York", "or", "New", "York"]
    seen = ["[QUESTION]", "", "is", "not", "[MASK]", "York", "or", "New", "York"]
    pieces = make_pieces(tokens, [(0, 2), (4, 5)], seen, question_token="[QUESTION]", groups=[0, -1], answers=[(7, 9)])
    runs = [(run.text, run.shown, run.group, run.colour) for run in join_pieces(pieces) if run.span is not None]

    assert runs == [("New York", "question", 0, 0), ("old", "mask", None, 1), ("New York", "answer", 0, 0)]
    assert terminal_text(pieces).plain == "New York? is not old York or New York"
    assert next(run.seen for run in join_pieces(pieces)) == "[QUESTION]"


def test_an_answer_is_marked_at_its_characters():
    text = highlight_answer("Moss is a town.\n", 10, 14)

    assert text.plain == "Moss is a town."
    assert [(span.start, span.end) for span in text.spans] == [(10, 14)]
    assert not highlight_answer("Moss", 0, 0).spans


def test_no_blank_is_before_a_morpheme_behind_its_stem():
    pieces = make_pieces(["학교", "##에서", "##는"], [(1, 2)], ["학교", "##가", "##는"])

    assert "".join((" " if run.space else "") + run.text for run in join_pieces(pieces)) == "학교에서는"
    assert join_pieces(pieces)[1].seen == "가"


def test_the_mark_itself_is_a_word_where_nothing_follows_it():
    assert make_pieces(["##"], [], ["##"])[0].text == "##"
