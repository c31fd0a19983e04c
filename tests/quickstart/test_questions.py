"""Questions are thinned evenly, written as SQuAD, and every column gets the same fine-tuning."""

import json

import pytest

from spanwise.quickstart.bundle import open_bundle
from spanwise.quickstart.questions import question_recipe, squad_json, subset
from spanwise.tasks.qa.reader import parse_squad, read_questions


@pytest.fixture(scope="module")
def dev():
    with open_bundle() as corpus:
        return read_questions(corpus.qa_dev)


def test_a_subset_is_spread_over_all_articles(dev):
    part = subset(dev, 60)

    assert len(part.questions) == 60
    assert len({part.titles[question.paragraph] for question in part.questions}) == 6
    assert subset(dev, 10**6) is dev


def test_a_subset_survives_being_written_and_read(dev):
    part = subset(dev, 40)

    again = parse_squad(json.loads(squad_json(part)), source="again")

    assert [(q.id, q.text, q.answers) for q in again.questions] == [(q.id, q.text, q.answers) for q in part.questions]
    assert [again.context_of(q) for q in again.questions] == [part.context_of(q) for q in part.questions]


def test_windows_fit_the_encoder_and_given_weights_are_moved_gently():
    small = question_recipe(128, 512, 10, is_given=False)
    short = question_recipe(128, 64, 10, is_given=True)

    assert small.task.max_length == 256 and short.task.max_length == 64
    assert short.training.learning_rate < small.training.learning_rate
    assert small.training.max_steps == 10
    assert small.task.marks_shared and not short.task.marks_shared
