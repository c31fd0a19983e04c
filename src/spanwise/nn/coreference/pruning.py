"""Which spans may be mentions, and which of them are kept: two compiled loops over one document.

Letters: T pieces of the document, N candidate spans, k spans kept.
Source: Lee et al. 2017, section 5 (greedy pruning without crossing spans); Lee et al. 2018.
Differs: candidates begin and end at the borders of words (the released code tries every piece, though no mention ends
inside a word), and no special token is ever inside one. Equal scores are decided by position.
"""

import numpy as np

from spanwise.runtime.compiled import njit


def candidate_spans(starts_word_T: np.ndarray, sentence_T: np.ndarray, max_width: int) -> tuple[np.ndarray, np.ndarray]:
    """First piece and last piece plus one of every span of whole words of one sentence, at most `max_width` pieces.

    Both int64 [N], sorted by start, then end.
    """
    starts = np.ascontiguousarray(starts_word_T, dtype=np.bool_)
    sentences = np.ascontiguousarray(sentence_T, dtype=np.int64)
    num_candidates = _fill_candidates(starts, sentences, max_width, np.zeros((0, 2), dtype=np.int64))
    spans_N2 = np.empty((num_candidates, 2), dtype=np.int64)
    _fill_candidates(starts, sentences, max_width, spans_N2)
    return spans_N2[:, 0].copy(), spans_N2[:, 1].copy()


@njit
def _fill_candidates(starts_word_T, sentence_T, max_width, spans_N2):
    """Count the candidates, and write them where there is room for them."""
    num_pieces = len(starts_word_T)
    found = 0
    for start in range(num_pieces):
        if not starts_word_T[start]:
            continue
        for end in range(start + 1, min(start + max_width, num_pieces) + 1):
            if sentence_T[end - 1] != sentence_T[start]:
                break
            if end < num_pieces and not starts_word_T[end] and sentence_T[end] == sentence_T[start]:
                continue
            if found < len(spans_N2):
                spans_N2[found, 0] = start
                spans_N2[found, 1] = end
            found += 1
    return found


def keep_spans(
    start_N: np.ndarray, end_N: np.ndarray, scores_N: np.ndarray, num_spans: int, num_pieces: int
) -> np.ndarray:
    """Indices of the at most `num_spans` candidates of highest score of which no two cross, int64 [k].

    Two spans cross where they share pieces and neither holds the other. The result is in order of position. Fewer
    than `num_spans` come back where the others cross.
    """
    order_N = np.argsort(-scores_N, kind="stable")
    kept = np.empty(min(num_spans, len(order_N)), dtype=np.int64)
    found = _keep_without_crossing(order_N, start_N.astype(np.int64), end_N.astype(np.int64), num_pieces, kept)
    return np.sort(kept[:found])  # candidates are sorted by position


@njit
def _keep_without_crossing(order_N, start_N, end_N, num_pieces, kept):
    farthest_end = np.full(num_pieces + 1, -1, dtype=np.int64)  # of the kept spans that begin here
    first_start = np.full(num_pieces + 1, num_pieces + 1, dtype=np.int64)  # of those that end here
    found = 0
    for place in range(len(order_N)):
        if found == len(kept):
            break
        candidate = order_N[place]
        start, end = start_N[candidate], end_N[candidate]
        crosses = False
        for border in range(start + 1, end):
            if farthest_end[border] > end or first_start[border] < start:
                crosses = True
                break
        if crosses:
            continue
        kept[found] = candidate
        found += 1
        farthest_end[start] = max(farthest_end[start], end)
        first_start[end] = min(first_start[end], start)
    return found
