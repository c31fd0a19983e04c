"""Measuring and asking take what they need on this machine, and no more than their shares of the time."""

import pytest

from spanwise.interop.huggingface import read_folder
from spanwise.quickstart.adapting import division
from spanwise.quickstart.adapting.asking import MARGIN
from spanwise.quickstart.adapting.division import AT_MOST, Needs, try_needs
from spanwise.quickstart.bundle import open_bundle
from spanwise.quickstart.clock import LEAST_SECONDS
from spanwise.tasks.qa.reader import read_questions


def test_a_fast_machine_leaves_adapting_what_measuring_and_asking_do_not_need():
    needs = Needs(measure=5.0, per_question=0.1, ask=12.0)
    assert needs.seconds(460.0) == {"measure": 5.0, "ask": 12.0}


@pytest.mark.parametrize("left", [460.0, 20.0, 0.0, -3.0])
def test_a_slow_machine_keeps_its_time_to_adapt(left):
    later = Needs(measure=1000.0, per_question=10.0, ask=2000.0).seconds(left)
    assert later == {name: pytest.approx(max(LEAST_SECONDS, most * left)) for name, most in AT_MOST.items()}
    assert sum(AT_MOST.values()) < 0.2


def test_needs_grow_with_the_text_that_is_kept_out_and_with_the_questions(toys, monkeypatch):
    monkeypatch.setattr(division, "forward_seconds", lambda start: 1e-3)
    monkeypatch.setattr(division, "seconds_per_question", lambda model, questions: 0.02)
    start = read_folder(toys.start)
    with open_bundle() as bundle:
        questions = read_questions(bundle.own_questions)

    needs, more = (try_needs(start, number, questions) for number in (1_000, 3_000))

    assert needs.measure > 3 * (1.0 + division.FILLED_TOKENS * 1e-3)  # three columns, by the encoder alone
    assert more.measure - needs.measure == pytest.approx(division.PER_FORWARD * 3 * 2.0)
    assert needs.per_question == pytest.approx(0.06)
    assert needs.ask == pytest.approx(MARGIN * 0.06 * len(questions.questions))
