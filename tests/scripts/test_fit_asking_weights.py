"""Weights are found again from questions that follow them."""

import numpy as np
from scripts.fit_asking_weights import Asked, fit_ranking, fit_threshold, fit_weights

from spanwise.asking.merging import Candidates, MergingWeights


def drawn(rng, *, has_answer, num=12):
    """A question whose right candidate, if there is one, tends to have a high score and a near passage."""
    features = rng.normal(size=(num, 3))
    scores = features @ np.array([2.0, 0.0, 1.0]) + rng.gumbel(size=num)
    f1 = np.zeros(num)
    if has_answer:
        f1[int(scores.argmax())] = 1.0
    return Asked(
        candidates=Candidates(
            places=[(number, 0, 1) for number in range(num)],
            ranked_C3=features,
            odds_C=rng.normal(size=num),
            information_C=np.full(num, rng.uniform(0.6, 1.0) if has_answer else rng.uniform(0.0, 0.5)),
            answer_C=np.arange(num),
        ),
        f1_C=f1,
    )


def test_the_ranking_that_questions_follow_is_found():
    rng = np.random.default_rng(0)
    ranking = fit_ranking([drawn(rng, has_answer=True) for _ in range(400)])
    np.testing.assert_allclose(ranking, [2.0, 0.0, 1.0], atol=0.35)


def test_questions_without_an_answer_teach_to_mistrust_unknown_words():
    rng = np.random.default_rng(1)
    with_it, without = ([drawn(rng, has_answer=has) for _ in range(150)] for has in (True, False))
    weights = fit_weights(with_it, without)
    assert isinstance(weights, MergingWeights)
    assert weights.certainty[3] > 1 and 0 < weights.threshold < 1


def test_the_threshold_parts_what_can_be_parted():
    with_answer, without = np.array([0.9, 0.8, 0.6]), np.array([0.1, 0.3, 0.5])
    assert 0.5 < fit_threshold(with_answer, np.ones(3), without) <= 0.6
    assert fit_threshold(with_answer, np.ones(3), np.array([])) <= 0.6
