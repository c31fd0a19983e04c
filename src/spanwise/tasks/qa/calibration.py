"""Probabilities of answers that mean what they say: of answers told at 0.7, seven in ten are right.

The n-best answers of a question, and "no answer" where the model may abstain, share one softmax of their scores divided
by a temperature. "No answer" has the first answer's score plus the null odds above the threshold. What is reported is
the most probable of all, but where a task takes the span of the highest expected F1 (span_rule.py). The temperature is
the one number that is fitted: on dev data at the end of fine-tuning, by the log loss of "the reported answer is exactly
right". It changes no answer.

Letters: K answers of a question, in margins with "no answer" beside them; Q questions.
Source: Guo et al. 2017 (On Calibration of Modern Neural Networks), sections 2 and 4.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LOWEST, HIGHEST = 0.1, 20.0  # temperatures that are looked at
FEWEST_QUESTIONS = 30  # with fewer than these no temperature is fitted
NUM_BINS = 10


def shares(
    scores_K: np.ndarray, null_odds: float, null_threshold: float | None, temperature: float | None
) -> tuple[np.ndarray, float]:
    """The probability of each answer, in their order, and that of "no answer" (0 where the model never abstains)."""
    if not len(scores_K):
        return np.zeros(0), 1.0
    margins = _margins(scores_K, null_odds, null_threshold)
    weights = np.exp((margins - margins.max()) / (temperature or 1.0))
    weights /= weights.sum()
    return (weights, 0.0) if null_threshold is None else (weights[:-1], float(weights[-1]))


def _margins(scores_K: np.ndarray, null_odds: float, null_threshold: float | None) -> np.ndarray:
    """Each answer's score below the best one's; behind them that of "no answer", where there is one."""
    margins = np.asarray(scores_K, dtype=np.float64) - scores_K[0]
    return margins if null_threshold is None else np.append(margins, null_odds - null_threshold)


@dataclass(frozen=True, kw_only=True)
class Reported:
    """The reported answers of Q questions: the margins of all alternatives over the reported one (its own, 0, is among
    them), and whether it was exactly right."""

    margins: Sequence[np.ndarray]
    is_right_Q: np.ndarray

    def confidence(self, temperature: float | None) -> np.ndarray:
        """The probability of each reported answer, [Q]: the softmax of its margin among those of all alternatives."""
        if not self.margins:
            return np.zeros(0)
        margins_QK = self._margins_QK / (temperature or 1.0)
        highest_Q = margins_QK.max(axis=1)
        return np.exp(-highest_Q) / np.exp(margins_QK - highest_Q[:, None]).sum(axis=1)

    @functools.cached_property
    def _margins_QK(self) -> np.ndarray:
        """The margins as one table; a question with fewer alternatives than another has -inf at the end of its row."""
        table_QK = np.full((len(self.margins), max(map(len, self.margins))), -np.inf)
        for row_K, margins in zip(table_QK, self.margins, strict=True):
            row_K[: len(margins)] = margins
        return table_QK


def reported_margins(scores_K: np.ndarray, null_odds: float, null_threshold: float | None) -> np.ndarray:
    """Scores of all alternatives of one question less that of the reported one: the first, or "no answer" where its
    odds are above the threshold."""
    if not len(scores_K):
        return np.zeros(1)
    margins = _margins(scores_K, null_odds, null_threshold)
    reported = 0.0 if null_threshold is None else max(0.0, float(margins[-1]))
    return np.sort(margins - reported)[::-1]


def fit_temperature(reported: Reported) -> float | None:
    """The temperature of least log loss; None where there are too few questions, or all answers are right, or none is.

    The loss is searched on a fine grid of logarithms: with answers of many kinds it may have more than one valley.
    """
    right = reported.is_right_Q
    if len(right) < FEWEST_QUESTIONS or right.all() or not right.any():
        return None
    grid = np.geomspace(LOWEST, HIGHEST, 200)
    losses = [log_loss(reported.confidence(temperature), right) for temperature in grid]
    return float(grid[int(np.argmin(losses))])


def log_loss(confidence_Q: np.ndarray, is_right_Q: np.ndarray) -> float:
    """Mean of minus the log of the probability given to what came true."""
    chances = np.clip(np.where(is_right_Q, confidence_Q, 1.0 - confidence_Q), 1e-12, 1.0)
    return float(-np.log(chances).mean())


def calibration_error(confidence_Q: np.ndarray, is_right_Q: np.ndarray) -> float:
    """Expected calibration error, 0 to 100: how far confidence and share of right answers lie apart, in ten bins of
    equal width, weighted by their numbers."""
    if not len(confidence_Q):
        return 0.0
    bins_Q = np.minimum((confidence_Q * NUM_BINS).astype(int), NUM_BINS - 1)
    gaps = np.bincount(bins_Q, weights=is_right_Q - confidence_Q, minlength=NUM_BINS)
    return float(100.0 * np.abs(gaps).sum() / len(confidence_Q))
