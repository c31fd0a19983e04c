"""How high an antecedent must score for a span to go back to it, chosen on dev data.

In the papers "no antecedent" has the score 0. A model that saw little training data links too seldom there: what it
says of pairs is right more often than it dares to say.
"""

from collections.abc import Callable

THRESHOLDS = tuple(half / 2 for half in range(-8, 5))  # -4 to 2


def best_threshold(score_at: Callable[[float], float]) -> float:
    """Return the threshold whose score is highest; of equal ones the one nearest to 0, that of the papers."""
    return max(sorted(THRESHOLDS, key=abs), key=score_at)
