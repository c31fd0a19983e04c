"""Which spans of a passage may be an answer, and what each of them is worth beside the others.

A span's score is its start and its end logit. A model that is unsure of the borders of an answer spreads its belief
over spans that overlap; each of them alone may then lose against one that stands elsewhere, alone. With `by_overlap` a
span counts the others too, each by how much of it the two have in common: the best span is then the one of the highest
expected F1 over tokens, not the likeliest one. That decides which span is taken; how probable a span is, its own score
says.

Letters: K candidates of one question in one passage.
Source: Kumar and Byrne 2004 (minimum Bayes risk decoding), section 2; Devlin et al. 2018 (BERT), section 4.2 (score).
"""

from dataclasses import dataclass

import numpy as np

MOST_SPANS = 100  # candidates that are compared with each other; those behind them have next to no weight


@dataclass(frozen=True, slots=True)
class SpanRule:
    """An answer has at most `max_tokens` tokens; each of them costs `length_penalty` (in logits)."""

    max_tokens: int = 30
    length_penalty: float = 0.0
    by_overlap: bool = False

    def ranked(self, spans_K3: np.ndarray) -> np.ndarray:
        """Return candidates [K, 3] (first token, last token, sum of two logits) as [K, 4], best first: the third column
        is then the score less the penalty, the fourth what they compete by. With `by_overlap` they are `MOST_SPANS`
        at most."""
        if not len(spans_K3):
            return np.zeros((0, 4))
        first_K, last_K, logits_K = spans_K3.T
        spans_K3 = np.stack([first_K, last_K, logits_K - self.length_penalty * (last_K - first_K + 1)], axis=1)
        spans_K3 = spans_K3[np.argsort(-spans_K3[:, 2], kind="stable")]
        if self.by_overlap:
            spans_K3 = spans_K3[:MOST_SPANS]
        worth_K = expected_f1(spans_K3) if self.by_overlap else spans_K3[:, 2]
        return np.column_stack([spans_K3, worth_K])[np.argsort(-worth_K, kind="stable")]


def expected_f1(spans_K3: np.ndarray) -> np.ndarray:
    """Return [K]: log(sum over spans b of exp(score of b) x F1 of the two), so still in logits.

    F1 is that of two sets of token positions; a span's with itself is 1, so no score falls.
    """
    first_K, last_K, score_K = spans_K3.T
    length_K = last_K - first_K + 1
    shared_KK = np.minimum(last_K[:, None], last_K) - np.maximum(first_K[:, None], first_K) + 1
    f1_KK = 2 * np.maximum(shared_KK, 0) / (length_K[:, None] + length_K)
    highest = score_K.max()
    with np.errstate(divide="ignore"):  # a span so far below the best that its share is 0 keeps its own score
        summed_K = highest + np.log(f1_KK @ np.exp(score_K - highest))
    return np.maximum(summed_K, score_K)
