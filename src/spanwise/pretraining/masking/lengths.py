"""Laws of how long spans are, in words.

Every law is a list of probabilities of the lengths min_words, min_words + 1, ..., max_words, and draws are made from
that list, so a sampler cannot drift from the law it states.
"""

import math
from collections.abc import Sequence

import numpy as np

from spanwise.errors import ConfigError


def geometric(p: float, num_lengths: int) -> np.ndarray:
    """Return p (1 - p)^k, cut off and renormalised: float64 [num_lengths], k counted from the shortest length.

    Source: SpanBERT, section 3.1. "Clip at 10" of the paper means renormalised: hard clipping would give mean 4.46,
    not the 3.8 that the paper reports.
    Raises: ConfigError for p outside (0, 1].
    """
    if not 0.0 < p <= 1.0:
        raise ConfigError(f"masking.p must be above 0 and at most 1, got {p}. Equal chances: lengths='uniform'.")
    return _normalised(p * (1.0 - p) ** np.arange(num_lengths))


def uniform(num_lengths: int) -> np.ndarray:
    """Return equal probabilities, float64 [num_lengths]."""
    return np.full(num_lengths, 1.0 / num_lengths)


def poisson(mean_words: float, min_words: int, max_words: int) -> np.ndarray:
    """Return Poisson probabilities of min_words to max_words, renormalised (text infilling of BART, section 2.2).

    Raises: ConfigError for a mean that is not above 0.
    """
    if not mean_words > 0.0:
        raise ConfigError(f"masking.mean_words must be above 0, got {mean_words}.")
    log_weights = [k * math.log(mean_words) - math.lgamma(k + 1) for k in range(min_words, max_words + 1)]
    return _normalised(np.exp(np.array(log_weights) - max(log_weights)))


def explicit(probabilities: Sequence[float], num_lengths: int) -> np.ndarray:
    """Return the user's own probabilities, checked. Raises: ConfigError."""
    law = np.asarray(probabilities, dtype=np.float64)
    if law.shape != (num_lengths,):
        raise ConfigError(
            f"masking.probabilities has {law.size} numbers, the lengths min_words to max_words are {num_lengths}; "
            "give one probability a length."
        )
    if not np.isfinite(law).all() or (law < 0).any() or abs(law.sum() - 1.0) > 1e-6:
        raise ConfigError(f"masking.probabilities must be 0 or more and add up to 1, got {list(probabilities)}.")
    return _normalised(law)


def _normalised(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum()
