"""The terminal's tables are narrow enough for 80 columns and say when nothing was gained."""

import io

from rich.console import Console

from spanwise.pretraining.comparison import ColumnMean, Gain, Measure
from spanwise.quickstart.record import AnswerRecord
from spanwise.quickstart.terminal import Terminal, excerpt


def measure(verdict):
    mean = ColumnMean(value=6.123, se=0.04)
    gain = Gain(value=0.1, low=-0.1, high=0.3, verdict=verdict)
    return Measure(
        key="mlm_edge_accuracy",
        better="higher",
        num_items=9,
        values=dict.fromkeys(("unigram", "bigram", "control", "trained"), mean),
        gains={"control": gain, "unigram": gain},
    )


def shown(call):
    stream = io.StringIO()
    call(Terminal(Console(file=stream, width=80)))
    return stream.getvalue()


def test_what_is_not_above_control_is_called_so_in_one_line():
    lines = shown(lambda terminal: terminal.measures([measure("not above control")])).rstrip().splitlines()

    assert len(lines) == 2
    assert "not above control" in lines[1]


def test_a_gain_shows_its_interval():
    assert "[−0.1, +0.3]" in shown(lambda terminal: terminal.measures([measure("above control")]))


def test_markup_in_text_is_shown_and_not_obeyed():
    answer = AnswerRecord(
        question="[bold]?", context="a [red]b", start=2, end=7, answer="[red]", score=0.5, gold=["[x]"]
    )

    text = shown(lambda terminal: terminal.answer(answer))

    assert "[bold]?" in text and "a [red]b" in text and "[x]" in text


def test_a_long_context_is_cut_at_spaces_around_the_answer():
    context = "word " * 200 + "ANSWER " + "tail " * 200
    start = context.index("ANSWER")

    first, last = excerpt(context, start, start + 6, margin=33)

    assert "ANSWER" in context[first:last]
    assert context[first:last].split()[0] == "word" and context[first:last].split()[-1] == "tail"
    assert last - first < 80
    assert excerpt("a b c", 2, 3) == (0, 5)
