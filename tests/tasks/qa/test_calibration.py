"""Probabilities that mean what they say, and the temperature that makes them so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.tasks.qa.calibration import (
    HIGHEST,
    LOWEST,
    Reported,
    calibration_error,
    fit_temperature,
    log_loss,
    reported_margins,
    shares,
)


def test_answers_and_no_answer_share_one_softmax():
    chances, null = shares(np.log([6.0, 3.0]), np.log(1 / 6), 0.0, None)
    assert chances == pytest.approx([0.6, 0.3]) and null == pytest.approx(0.1)
    chances, null = shares(np.log([6.0, 3.0]), 99.0, None, None)  # never abstains
    assert chances == pytest.approx([2 / 3, 1 / 3]) and null == 0
    chances, _ = shares(np.log([9.0, 4.0]), 0.0, None, 2.0)  # a temperature of two takes roots
    assert chances == pytest.approx([0.6, 0.4])
    assert shares(np.zeros(0), 0.0, None, None)[1] == 1.0


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20), st.floats(-1e3, 1e3), st.floats(-9, 9), st.floats(0.1, 20)
)
def test_the_most_probable_is_what_the_threshold_reports_at_any_temperature(scores, odds, threshold, temperature):
    scores_K = np.sort(np.array(scores))[::-1]
    chances, null = shares(scores_K, odds, threshold, temperature)
    assert chances.sum() + null == pytest.approx(1.0)
    assert (null >= chances[0]) if odds > threshold else (chances[0] >= null)
    margins = reported_margins(scores_K, odds, threshold)
    confidence = Reported(margins=[margins], is_right_Q=np.array([True])).confidence(temperature)
    assert confidence[0] == pytest.approx(max(chances[0], null))


def overconfident(num=2500, temperature=4.0, seed=0):
    """Answers that are right as often as scores divided by `temperature` say."""
    draw = np.random.default_rng(seed)
    margins = [np.sort(np.append(0.0, -draw.gamma(2.0, 3.0, size=4)))[::-1] for _ in range(num)]
    confidence = Reported(margins=margins, is_right_Q=np.zeros(num)).confidence(temperature)
    return Reported(margins=margins, is_right_Q=draw.random(num) < confidence)


def test_the_fitted_temperature_is_the_true_one_and_removes_the_error():
    reported = overconfident()
    temperature = fit_temperature(reported)
    assert temperature == pytest.approx(4.0, rel=0.12)
    before, after = (calibration_error(reported.confidence(t), reported.is_right_Q) for t in (None, temperature))
    assert before > 15 and after < 3
    unseen = overconfident(seed=1)
    assert calibration_error(unseen.confidence(temperature), unseen.is_right_Q) < 3
    losses = [log_loss(reported.confidence(t), reported.is_right_Q) for t in np.geomspace(LOWEST, HIGHEST, 25)]
    assert log_loss(reported.confidence(temperature), reported.is_right_Q) <= min(losses) + 1e-9


def test_questions_with_different_numbers_of_alternatives_have_the_confidence_of_each_alone():
    draw = np.random.default_rng(2)
    margins = [np.sort(np.append(0.0, draw.normal(size=size)))[::-1] for size in (0, 3, 1, 19)]
    told = Reported(margins=margins, is_right_Q=np.zeros(4)).confidence(0.7)
    assert told == pytest.approx([1 / np.exp(one / 0.7).sum() for one in margins])


def test_nothing_is_fitted_on_few_answers_or_answers_of_one_kind():
    reported = overconfident(num=60)
    assert fit_temperature(reported) is not None
    for right in (np.ones(60, dtype=bool), np.zeros(60, dtype=bool)):
        assert fit_temperature(Reported(margins=reported.margins, is_right_Q=right)) is None
    few = Reported(margins=reported.margins[:29], is_right_Q=reported.is_right_Q[:29])
    assert fit_temperature(few) is None


def test_the_calibration_error_is_the_weighted_gap_of_the_bins():
    confidence = np.array([0.95, 0.95, 0.15, 1.0])
    right = np.array([True, False, False, True])
    # bin of 0.9 to 1: confidence 2.9 against 2 right of 3; bin of 0.1 to 0.2: 0.15 against 0 of 1
    assert calibration_error(confidence, right) == pytest.approx(100 * (0.9 + 0.15) / 4)
    assert calibration_error(np.zeros(0), np.zeros(0)) == 0.0


def test_the_probability_of_an_answer_that_is_not_the_likeliest_is_its_own():
    """By expected overlap the first answer may score below another; what is reported is still the first."""
    margins = reported_margins(np.array([1.0, 2.0, 0.0]), 0.0, None)
    confidence = Reported(margins=[margins], is_right_Q=np.array([True])).confidence(None)[0]
    assert confidence == pytest.approx(shares(np.array([1.0, 2.0, 0.0]), 0.0, None, None)[0][0])
    assert confidence == pytest.approx(np.exp(1.0) / (np.exp(1.0) + np.exp(2.0) + 1.0))
