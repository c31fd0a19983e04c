"""Means with standard errors, and paired differences with intervals, where items come in clusters.

Hidden tokens of one sequence, or questions on one paragraph, are not independent: the standard error counts clusters,
not items. Letters: N items, G clusters.

Source: the linearised (ratio) estimator of survey sampling; Cochran, Sampling Techniques, 3rd ed., section 9A.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

Better = Literal["higher", "lower"]
LEVEL = 0.95  # of every interval


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean over N items and its standard error over G clusters (NaN where G is below 2)."""

    value: float
    standard_error: float
    num_clusters: int


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A paired difference "ours against control", signed so that above zero is better, with its 95 % interval."""

    value: float
    low: float
    high: float
    num_clusters: int

    @property
    def verdict(self) -> Literal["above control", "not above control", "below control"]:
        """ "not above control" wherever the interval holds zero or could not be computed."""
        if self.low > 0:
            return "above control"
        if self.high < 0:
            return "below control"
        return "not above control"


def clustered_mean(values: np.ndarray, clusters: np.ndarray) -> Estimate:
    """Mean of values [N]; clusters [N] says which items belong together (any integers)."""
    values = np.asarray(values, dtype=np.float64)
    if values.shape != np.shape(clusters) or values.ndim != 1:
        raise ValueError(f"values and clusters must be flat and equally long, got {values.shape}, {np.shape(clusters)}")
    if len(values) == 0:
        return Estimate(value=float("nan"), standard_error=float("nan"), num_clusters=0)
    mean = float(values.mean())
    labels, cluster_N = np.unique(np.asarray(clusters), return_inverse=True)
    num_clusters = len(labels)
    residual_G = np.bincount(cluster_N, weights=values - mean, minlength=num_clusters)
    error = standard_error(residual_G) / len(values)
    return Estimate(value=mean, standard_error=error, num_clusters=num_clusters)


def standard_error(residuals_G: np.ndarray) -> float:
    """The standard error of a figure by how much each cluster moves it, [G]; NaN of a single cluster."""
    count = len(residuals_G)
    return math.sqrt(count / (count - 1) * float(np.square(residuals_G).sum())) if count > 1 else math.nan


def paired_difference(
    ours: np.ndarray, control: np.ndarray, clusters: np.ndarray, *, better: Better = "higher"
) -> Difference:
    """Compare the same N items under two models; the interval is Student's t with G - 1 degrees of freedom.

    With `better="lower"` (losses) the difference is control minus ours, so above zero always means better.
    """
    gain = np.asarray(ours, dtype=np.float64) - np.asarray(control, dtype=np.float64)
    estimate = clustered_mean(gain if better == "higher" else -gain, clusters)
    return with_interval(estimate.value, estimate.standard_error, estimate.num_clusters)


def with_interval(value: float, error: float, num_clusters: int) -> Difference:
    """Return a difference of a known standard error with its interval, as `paired_difference` does."""
    half = float(stdtrit(num_clusters - 1, 0.5 + LEVEL / 2)) * error if num_clusters > 1 else math.nan
    return Difference(value=value, low=value - half, high=value + half, num_clusters=num_clusters)
