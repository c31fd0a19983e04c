"""From marks at tokens to spans and back; words as array code sees them, and the one way to hide some of them.

Spans that touch are one span, as between them lies no visible token, so the boundary of each would itself be hidden.
Spans of a group stay what they are; where they touch others, `gaps` says how far the hidden stretch reaches.

Source: SpanBERT's released code, where overlapping and touching spans are merged before boundaries are taken.
Letters: T tokens, S sequences, W words of one sequence, M spans, N hidden tokens, G groups, O marks of grouped spans.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from spanwise.pretraining.packs import Hidden, Pack, Spans
from spanwise.runtime.compiled import njit

LONE = 1
"""The mark of a hidden token whose span belongs to no group; 0 marks a visible token."""
NO_BUDGET = 1 << 62
"""Given as a budget where a span is hidden to its end, whatever is hidden already."""


@njit
def no_marks(num_tokens):
    """Return the marks of T tokens that are all visible, int32 [T]."""
    return np.zeros(num_tokens, dtype=np.int32)


@njit
def word_starts(borders, maskable_T, starts_word_T):
    """Return where words begin, bool [T]: maskable tokens that start a word, follow a special or begin a sequence."""
    words_T = np.zeros(len(maskable_T), dtype=np.bool_)
    for t in range(1, len(maskable_T)):  # no branch: the compiler makes it many tokens at a time
        words_T[t] = maskable_T[t] & (starts_word_T[t] | (not maskable_T[t - 1]))
    for border in borders:
        if border < len(maskable_T):
            words_T[border] = maskable_T[border]
    return words_T


@njit
def longest_sequence(borders):
    """Return how many tokens the longest sequence of a pack has: room for any list of its words."""
    longest = np.int64(0)
    for s in range(len(borders) - 1):
        longest = max(longest, borders[s + 1] - borders[s])
    return longest


@njit
def list_words(first, last, maskable_T, words_T, start_W, end_W):
    """Write the words of the tokens [first, last) to start_W and end_W, half-open, and return how many there are.

    Words that touch have `end_W[w] == start_W[w + 1]`; between others lies a special.
    """
    num_words = 0
    for t in range(first, last):
        if words_T[t]:
            start_W[num_words] = t
            num_words += 1
        if maskable_T[t]:
            end_W[num_words - 1] = t + 1
    return num_words


@njit
def hide(start, end, words_T, budget, limit, num_hidden, marks_T, mark):
    """Mark the visible tokens of [start, end), word by word until `budget` tokens are hidden, and never more than
    `limit`. Return how many are hidden now."""
    for t in range(start, end):
        if num_hidden >= budget and words_T[t] and t > start:
            break
        if not marks_T[t]:
            if num_hidden == limit:
                return num_hidden
            marks_T[t] = mark
            num_hidden += 1
    return num_hidden


def spans_of(
    marks_T: np.ndarray,
    borders: np.ndarray,
    *,
    group_O: np.ndarray | None = None,
    kept: np.ndarray | None = None,
) -> Spans:
    """Return the runs of equal marks above zero as spans; a run ends where its sequence ends.

    Tokens that are marked `LONE` belong to spans without a group, those marked `LONE + 1 + o` to group `group_O[o]`.
    `kept` int64 [G, 2] says where the occurrence of each group lies that stays visible.
    """
    sequence, start, end, mark = runs(marks_T, borders)
    group = None
    if group_O is not None and len(group_O):
        group = np.concatenate([np.array([-1]), group_O])[mark - LONE]
    return Spans(
        sequence=sequence,
        start=start,
        end=end,
        group=group,
        kept=None if group is None else kept,
    )


def runs(marks_T: np.ndarray, borders: np.ndarray) -> np.ndarray:
    """Return sequence, start, end and mark of the M runs of equal marks above zero, int64 [4, M]."""
    columns = np.empty((4, np.count_nonzero(marks_T)), dtype=np.int64)  # as many spans at most
    return columns[:, : _list_runs(marks_T, borders, columns)]


@njit
def _list_runs(marks_T, borders, columns):
    sequence, start, end, marks = columns
    m = -1
    for s in range(len(borders) - 1):
        before = np.int64(0)
        for t in range(borders[s], borders[s + 1]):
            mark = np.int64(marks_T[t])
            if mark:
                if mark != before:
                    m += 1
                    sequence[m], start[m], marks[m] = s, t, mark
                end[m] = t + 1
            before = mark
    return m + 1


def gaps(spans: Spans) -> tuple[np.ndarray, np.ndarray]:
    """Return where the hidden stretch of each span begins and ends, int64 [M] each.

    It reaches beyond the span where others touch it, which only spans of groups allow.
    """
    if spans.group is None:
        return spans.start, spans.end
    return _gaps(spans.sequence, spans.start, spans.end)


def merged(spans: Spans) -> Spans:
    """Return the spans without groups: those that touch are one."""
    first_M, last_M = gaps(spans)
    found, index = np.unique(first_M, return_index=True)
    return replace(spans, sequence=spans.sequence[index], start=found, end=last_M[index], group=None, kept=None)


@njit
def _gaps(sequence_M, start_M, end_M):
    first_M, last_M = start_M.copy(), end_M.copy()
    for m in range(1, len(start_M)):
        if sequence_M[m] == sequence_M[m - 1] and start_M[m] == end_M[m - 1]:
            first_M[m] = first_M[m - 1]
    for m in range(len(start_M) - 2, -1, -1):
        if first_M[m + 1] == first_M[m]:
            last_M[m] = last_M[m + 1]
    return first_M, last_M


def move(spans: Spans, sequences: np.ndarray, shift: np.ndarray) -> Spans:
    """Return the spans with sequence s as number `sequences[s]` and its tokens `shift[s]` places further, int64 [S]."""
    shift_M = shift[spans.sequence]
    kept = spans.kept
    if kept is not None and spans.group is not None:
        is_grouped_M = spans.group >= 0
        shift_G = np.zeros(len(kept), dtype=np.int64)
        shift_G[spans.group[is_grouped_M]] = shift_M[is_grouped_M]
        kept = kept + shift_G[:, None]
    sequence = sequences[spans.sequence]
    return replace(spans, sequence=sequence, start=spans.start + shift_M, end=spans.end + shift_M, kept=kept)


def some_spans(spans: Spans, wanted_M: np.ndarray) -> Spans:
    """Return those of the spans that are wanted, bool [M]; without groups where none of them has one."""
    columns = {name: getattr(spans, name)[wanted_M] for name in ("sequence", "start", "end")}
    group = None if spans.group is None else spans.group[wanted_M]
    if group is None or not (group >= 0).any():
        return replace(spans, **columns, group=None, kept=None)
    return replace(spans, **columns, group=group)


def join_spans(parts: Sequence[Spans]) -> Spans:
    """Return spans of different sequences of one pack as one, sorted by where they start; groups are numbered anew."""
    start = np.concatenate([spans.start for spans in parts])
    order = np.argsort(start, kind="stable")
    groups, kept, num_groups = [], [], 0
    for spans in parts:
        own = np.full(len(spans.start), -1) if spans.group is None else spans.group
        groups.append(np.where(own < 0, -1, own + num_groups))
        kept.append(np.full((int(own.max(initial=-1)) + 1, 2), -1) if spans.kept is None else spans.kept)
        num_groups += len(kept[-1])
    return Spans(
        sequence=np.concatenate([spans.sequence for spans in parts])[order],
        start=start[order],
        end=np.concatenate([spans.end for spans in parts])[order],
        group=np.concatenate(groups)[order] if num_groups else None,
        kept=np.concatenate(kept) if num_groups else None,
    )


def without_seams(spans: Spans) -> Spans:
    """Return the spans with those that touch and belong to no group made one."""
    before, after = slice(None, -1), slice(1, None)
    begins_M = np.ones(len(spans.start), dtype=bool)
    begins_M[1:] = (spans.sequence[after] != spans.sequence[before]) | (spans.start[after] != spans.end[before])
    if spans.group is not None:
        begins_M[1:] |= np.maximum(spans.group[after], spans.group[before]) >= 0
    ends_M = np.append(begins_M[1:], True)[: len(begins_M)]
    return replace(
        spans,
        sequence=spans.sequence[begins_M],
        start=spans.start[begins_M],
        end=spans.end[ends_M],
        group=None if spans.group is None else spans.group[begins_M],
    )


def hidden_tokens(pack: Pack, spans: Spans) -> Hidden:
    """Return the N hidden tokens in order of position, with what stood there before any replacement."""
    position, span, sequence, original = _hidden(spans.sequence, spans.start, spans.end, pack.input_ids)
    return Hidden(position=position, span=span, sequence=sequence, original_ids=original)


@njit
def _hidden(sequence_M, start_M, end_M, input_ids_T):
    num_hidden = 0
    for m in range(len(start_M)):
        num_hidden += end_M[m] - start_M[m]
    columns = np.empty((4, num_hidden), dtype=np.int64)
    position_N, span_N, sequence_N, original_N = columns
    i = 0
    for m in range(len(start_M)):
        s = sequence_M[m]
        for t in range(start_M[m], end_M[m]):
            position_N[i], span_N[i], sequence_N[i], original_N[i] = t, m, s, input_ids_T[t]
            i += 1
    return columns
