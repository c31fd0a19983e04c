"""The compiled loops between examples and padded tensors: what may be hidden, which example it is, and the padding.

Letters: B examples, T tokens end to end, L padded length, V vocabulary.
"""

import numpy as np

from spanwise.data.vocabulary import Vocabulary
from spanwise.integrations.huggingface.rows import NO_WORD, Rows
from spanwise.runtime.compiled import njit

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)
_SHIFT = np.uint64(32)


def attention_of(rows: Rows, vocabulary: Vocabulary, eos_id: int | None) -> np.ndarray:
    """Tell which tokens are real, bool [T]: as the examples say, else all but [PAD] at either end of an example.

    A pad token that is also the end of a text (GPT-2) is never taken for padding without a mask that says so.
    """
    if rows.attention_mask is not None:
        return rows.attention_mask != 0
    real_T = np.ones(len(rows.input_ids), dtype=bool)
    if vocabulary.pad_id >= 0 and vocabulary.pad_id not in (eos_id, vocabulary.sep_id, vocabulary.unk_id):
        _clear_ends(rows.input_ids, rows.borders, vocabulary.pad_id, real_T)
    return real_T


def words_of(rows: Rows, real_T: np.ndarray, vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """Return maskable [T] and starts_word [T]: padding and specials are not maskable, examples' word ids go first."""
    nothing = np.zeros(0, dtype=np.int64)
    return _words(
        rows.input_ids,
        rows.borders,
        real_T,
        nothing if rows.special_tokens_mask is None else rows.special_tokens_mask,
        nothing if rows.word_ids is None else rows.word_ids,
        vocabulary.unk_id,
        vocabulary.is_special,
        vocabulary.starts_word,
        vocabulary.ends_word,
    )


@njit
def extremes(ids_T):
    """Return the smallest and the largest id, (0, 0) of none."""
    low, high = np.int64(0), np.int64(0)
    for t in range(len(ids_T)):
        low, high = min(low, ids_T[t]), max(high, ids_T[t])
    return low, high


@njit
def _clear_ends(ids_T, borders, pad_id, real_T):
    for s in range(len(borders) - 1):
        first, last = borders[s], borders[s + 1]
        while first < last and ids_T[first] == pad_id:
            real_T[first] = False
            first += 1
        while first < last and ids_T[last - 1] == pad_id:
            last -= 1
            real_T[last] = False


@njit
def _words(ids_T, borders, real_T, special_T, word_T, unk_id, is_special_V, starts_word_V, ends_word_V):
    num_tokens = len(ids_T)
    maskable_T = np.empty(num_tokens, dtype=np.bool_)
    starts_T = np.empty(num_tokens, dtype=np.bool_)
    has_special, has_words = len(special_T) > 0, len(word_T) > 0
    for s in range(len(borders) - 1):
        inside = False
        for t in range(borders[s], borders[s + 1]):
            token = ids_T[t]
            unknown = token == unk_id  # stands for a word of the text
            hideable = real_T[t] & (unknown | (not is_special_V[token]))
            starts = unknown | starts_word_V[token] | (inside and ends_word_V[ids_T[t - 1]])
            if has_special:
                hideable &= special_T[t] == 0
            if has_words:
                hideable &= word_T[t] != NO_WORD
                starts = (not inside) or word_T[t] != word_T[t - 1]
            maskable_T[t] = hideable
            starts_T[t] = hideable & (starts | (not inside))
            inside = hideable
    return maskable_T, starts_T


@njit
def fingerprints(ids_T, real_T, borders):
    """Return a number for the real tokens of each example, int64 [B], the same wherever it is padded and whatever is
    beside it."""
    names_B = np.empty(len(borders) - 1, dtype=np.int64)
    for s in range(len(names_B)):
        total, place = np.uint64(0), np.uint64(0)
        for t in range(borders[s], borders[s + 1]):
            here = np.uint64(real_T[t])
            place += here * _PRIME
            z = (np.uint64(ids_T[t]) + place) * _MULTIPLIER
            total += here * (z ^ (z >> _SHIFT)) * _PRIME
        names_B[s] = np.int64(total)
    return names_B


@njit
def padded(values_T, borders, length, fill, left):
    """Return rows of one length, int64 [B, L]; `fill` at the right, or at the left."""
    num_rows = len(borders) - 1
    rows_BL = np.empty((num_rows, length), dtype=np.int64)
    for s in range(num_rows):
        num = borders[s + 1] - borders[s]
        begin = length - num if left else 0
        for i in range(begin):
            rows_BL[s, i] = fill
        for i in range(num):
            rows_BL[s, begin + i] = values_T[borders[s] + i]
        for i in range(begin + num, length):
            rows_BL[s, i] = fill
    return rows_BL


@njit
def labels_and_marks(ids_T, start_M, end_M, ignored):
    """Return labels [T] and span_mask [T]: the original id and 1 at hidden tokens, `ignored` and 0 elsewhere."""
    labels_T = np.full(len(ids_T), ignored, dtype=np.int64)
    marks_T = np.zeros(len(ids_T), dtype=np.int64)
    for m in range(len(start_M)):
        for t in range(start_M[m], end_M[m]):
            labels_T[t] = ids_T[t]
            marks_T[t] = 1
    return labels_T, marks_T


@njit
def spans_by_row(sequence_M, start_M, end_M, borders, length, left):
    """Return half-open places of the spans of each padded row, int64 [B, M', 2]; -1 where a row has fewer."""
    num_rows = len(borders) - 1
    count_B = np.zeros(num_rows, dtype=np.int64)
    for m in range(len(sequence_M)):
        count_B[sequence_M[m]] += 1
    spans = np.full((num_rows, count_B.max() if num_rows else 0, 2), -1, dtype=np.int64)
    count_B[:] = 0
    for m in range(len(sequence_M)):
        s = sequence_M[m]
        shift = (length - (borders[s + 1] - borders[s]) if left else 0) - borders[s]
        spans[s, count_B[s], 0] = start_M[m] + shift
        spans[s, count_B[s], 1] = end_M[m] + shift
        count_B[s] += 1
    return spans


@njit
def runs_of(marks_T, borders):
    """Return sequence, start and end [M] of the unbroken runs of marked tokens; runs end where an example ends."""
    sequence = np.empty(len(marks_T), dtype=np.int64)
    start = np.empty(len(marks_T), dtype=np.int64)
    end = np.empty(len(marks_T), dtype=np.int64)
    m = 0
    for s in range(len(borders) - 1):
        t = borders[s]
        while t < borders[s + 1]:
            first = t
            while t < borders[s + 1] and marks_T[t] != 0:
                t += 1
            if t > first:
                sequence[m], start[m], end[m] = s, first, t
                m += 1
            t += 1
    return sequence[:m], start[:m], end[:m]
