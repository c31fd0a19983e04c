"""Fit the weights by which answers are merged, from questions whose right answers are known.

Letters: Q questions, C candidates of a question, F features.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from spanwise.asking.merging import Candidates, MergingWeights

RIGHT = 0.5  # F1 from which an answer counts as right
PENALTY = 0.01  # of the squared weights, in units of each feature's spread: what keeps few questions from large ones


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question asked of a text: its candidates, and the F1 of each with the right answers [C] (all 0: the text has
    no answer)."""

    candidates: Candidates
    f1_C: np.ndarray


def fit_weights(answerable: Sequence[Asked], unanswerable: Sequence[Asked]) -> MergingWeights:
    """Return the weights that fit questions asked of texts with their answers, and of texts without them."""
    ranking = fit_ranking(answerable)
    tops = [_top(asked, ranking) for asked in answerable if len(asked.candidates)]
    without = [_top(asked, ranking) for asked in unanswerable if len(asked.candidates)]
    features = np.array([features for features, _ in tops + without])
    f1 = np.array([f1 for _, f1 in tops] + [0.0] * len(without))
    certainty = fit_logistic(features, f1 >= RIGHT)
    chances = 1.0 / (1.0 + np.exp(-features @ certainty))
    threshold = fit_threshold(chances[: len(tops)], f1[: len(tops)], chances[len(tops) :])
    return MergingWeights(
        ranking=(float(ranking[0]), float(ranking[1]), float(ranking[2])),
        certainty=(float(certainty[0]), float(certainty[1]), float(certainty[2]), float(certainty[3])),
        threshold=threshold,
    )


def fit_ranking(asked: Sequence[Asked]) -> np.ndarray:
    """Return the weights [F] under which the right candidates have most of the softmax over all of their question."""
    used = [(one.candidates.ranked_C3, one.f1_C >= RIGHT) for one in asked if (one.f1_C >= RIGHT).any()]
    spread = np.concatenate([features for features, _ in used]).std(axis=0) + 1e-9

    def loss(scaled: np.ndarray) -> float:
        total = 0.0
        for features, is_right in used:
            scores = features @ (scaled / spread)
            total += np.logaddexp.reduce(scores) - np.logaddexp.reduce(scores[is_right])
        return float(total / len(used) + PENALTY * (scaled @ scaled))

    return np.asarray(minimize(loss, np.zeros(len(spread)), method="BFGS").x) / spread


def fit_logistic(features_QF: np.ndarray, is_right_Q: np.ndarray) -> np.ndarray:
    """Return the weights [F] of least log loss; the first feature is the constant."""
    spread = features_QF.std(axis=0)
    spread[0] = 1.0
    signs = np.where(is_right_Q, 1.0, -1.0)

    def loss(scaled: np.ndarray) -> float:
        margins = signs * (features_QF @ (scaled / spread))
        return float(np.logaddexp(0.0, -margins).mean() + 0.1 * PENALTY * (scaled[1:] @ scaled[1:]))

    return np.asarray(minimize(loss, np.zeros(len(spread)), method="BFGS").x) / spread


def fit_threshold(with_answer_Q: np.ndarray, f1_Q: np.ndarray, without_Q: np.ndarray) -> float:
    """Return the probability below which to say nothing: the one of the best mean of F1 where there is an answer and
    of the share of silence where there is none."""
    places = np.unique(np.concatenate([[0.0], with_answer_Q, without_Q]))
    worth = [
        (f1_Q * (with_answer_Q >= place)).mean() + ((without_Q < place).mean() if len(without_Q) else 0.0)
        for place in places
    ]
    return float(places[int(np.argmax(worth))])


def _top(asked: Asked, ranking: np.ndarray) -> tuple[np.ndarray, float]:
    chosen, shares = asked.candidates.order_and_shares(ranking.tolist())
    features = asked.candidates.certainty_features(chosen[:1], shares[:1])
    return features[0], float(asked.f1_C[chosen[0]])
