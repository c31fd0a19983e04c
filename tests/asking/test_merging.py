"""What a reader found in several passages becomes one list."""

import numpy as np
import pytest

from spanwise.asking.merging import MergingWeights, NearPassage, comparable, gather, merge, weights_for
from spanwise.asking.reader import ReadPassage, ReadSpan

WEIGHTS = MergingWeights(ranking=(1.0, -1.0, 2.0), certainty=(0.0, 1.0, 0.1, 1.0), threshold=0.3)
TEXTS = ["Anna Miller built it.", "It was the Anna miller. In 1890."]


def read(*spans, null=0.0):
    return ReadPassage(tuple(ReadSpan(*span) for span in spans), null)


def test_answers_that_read_alike_are_one_and_their_shares_add_up():
    near = [NearPassage(1.0, 0.9), NearPassage(1.0, 0.9)]
    found = [read((0, 11, 2.0)), read((7, 22, 2.0), (27, 31, 2.4))]
    merged = merge(gather(TEXTS, near, found), WEIGHTS, top=5)
    assert [TEXTS[one.passage][one.start : one.end] for one in merged] == ["Anna Miller", "1890"]
    assert 1 > merged[0].probability > merged[1].probability > 0
    assert merge(gather(TEXTS, near, found), WEIGHTS, top=1) == merged[:1]


def test_a_near_passage_and_one_that_denies_no_answer_come_first():
    far, near = NearPassage(0.2, 0.9), NearPassage(1.0, 0.9)
    found = [read((0, 11, 2.0)), read((27, 31, 2.0))]
    assert merge(gather(TEXTS, [far, near], found), WEIGHTS, 1)[0].passage == 1
    found = [read((0, 11, 2.0)), read((27, 31, 2.0), null=5.0)]
    assert merge(gather(TEXTS, [far, near], found), WEIGHTS, 1)[0].passage == 0


def test_a_question_whose_words_are_nowhere_is_less_sure():
    found = [read((0, 11, 2.0))]
    sure, unsure = (merge(gather(TEXTS[:1], [NearPassage(1.0, told)], found), WEIGHTS, 1)[0] for told in (0.9, 0.1))
    assert sure.probability > unsure.probability


def test_nothing_read_gives_nothing():
    assert merge(gather([], [], []), WEIGHTS, 3) == []
    assert merge(gather(["  "], [NearPassage(1.0, 1.0)], [read((0, 2, 1.0))]), WEIGHTS, 3) == []


def test_the_fitted_weights_prefer_high_scores_near_passages_and_known_words():
    for language in ("en", "ko"):
        weights = weights_for(language)
        assert weights.ranking[0] > 0 and weights.ranking[2] > 0 and weights.certainty[1] > 0
        assert weights.certainty[3] > 0 and 0 < weights.threshold < 1


def test_case_blanks_and_outer_marks_make_no_other_answer():
    assert comparable(" The  Tower,") == comparable("tower") != comparable("towers")


def test_scores_far_apart_overflow_nothing():
    found = [read((0, 11, 2000.0)), read((27, 31, -2000.0))]
    merged = merge(gather(TEXTS, [NearPassage(1.0, 1.0)] * 2, found), WEIGHTS, 2)
    assert np.isfinite([one.probability for one in merged]).all() and merged[0].probability == pytest.approx(1.0)
