"""Masking of spans that recur in a text, and of geometric spans for the rest of one budget of tokens.

Source: Ram et al. 2021 (Splinter), section 3: spans that a passage repeats teach to look for an answer in it.
Letters: T tokens in the pack, S sequences, W words of one sequence, V vocabulary, G groups, O occurrences.
"""

from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from spanwise.config import part
from spanwise.config.ranges import Chance, Words
from spanwise.pretraining.masking import lengths as laws
from spanwise.pretraining.masking.alias import AliasTable, draw
from spanwise.pretraining.masking.base import marked_by
from spanwise.pretraining.masking.clusters import find_clusters, room_for
from spanwise.pretraining.masking.merge import LONE, NO_BUDGET, hide, list_words, longest_sequence, no_marks, spans_of
from spanwise.pretraining.masking.recurring_groups import Recurring
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below, mix


@part("recurring_spans")
class RecurringSpans(Recurring):
    """Hide recurring spans until `ratio` of a sequence's maskable tokens are hidden, and fill the rest of the budget,
    or all of it in a text that repeats nothing, by geometric spans, which touch a kept occurrence last.

    The last group may be hidden in part, where the budget ends; its spans then belong to no group.
    """

    gives: ClassVar[frozenset[str]] = frozenset({"spans", "groups", "lone_spans"})

    p: Chance = 0.2  # of the geometric spans: chance that one ends after each word
    max_words: Words = 10  # of the geometric spans
    end: Literal["words", "budget"] = "words"

    def __post_init__(self) -> None:
        _ = self.fill  # raises here, not at the first batch

    @cached_property
    def fill(self) -> AliasTable:
        """The law of the geometric spans' numbers of words, counted from one."""
        return AliasTable.from_weights(laws.geometric(self.p, self.max_words))

    def select_among(self, kinds: np.ndarray, pack: Pack, keys: np.ndarray, capacity: int | None) -> Spans:
        """Return the spans of a pack. See `Recurring.select_among`."""
        options = (pack.input_ids, kinds, self.fill.columns, self.max_pieces, self.end == "budget")
        marks_T, group_O, kept = marked_by(_mark, pack, keys, self.ratio, capacity, *options)
        return spans_of(marks_T, pack.borders, group_O=group_O, kept=kept)


@njit
def _mark(
    borders, maskable_T, words_T, keys_S, budgets_S, capacity, ids_T, kinds_V, law, max_pieces, strict
):  # fmt: skip
    marks_T = no_marks(len(maskable_T))
    is_kept_T = np.zeros(len(maskable_T), dtype=np.bool_)  # true at the start of each word that is kept
    group_O, kept = np.empty(len(maskable_T), dtype=np.int64), np.empty((len(maskable_T), 2), dtype=np.int64)
    longest = longest_sequence(borders)
    scratch = room_for(longest, max_pieces)
    start_W, end_W = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    room, reserved = capacity, budgets_S.sum()
    counts = np.zeros(2, dtype=np.int64)  # occurrences in groups, groups
    for s in range(len(budgets_S)):
        first, last, budget, key = borders[s], borders[s + 1], budgets_S[s], keys_S[s]
        reserved -= budget
        limit = budget if strict else room - reserved
        clusters = find_clusters(
            ids_T[first:last], maskable_T[first:last], words_T[first:last], kinds_V, max_pieces, scratch
        )
        num_hidden, counter = _hide_groups(
            key, clusters, first, words_T, budget, limit, marks_T, is_kept_T, group_O, kept, counts
        )
        num_words = list_words(first, last, maskable_T, words_T, start_W, end_W)
        num_hidden = _fill(
            key, counter, start_W[:num_words], end_W[:num_words], law, words_T, budget, limit, num_hidden, marks_T,
            is_kept_T,
        )  # fmt: skip
        _dissolve(first, last, marks_T, group_O, kept)
        room -= num_hidden
    num_occurrences, num_groups = counts
    return marks_T, group_O[:num_occurrences].copy(), kept[:num_groups].copy()


@njit
def _hide_groups(key, clusters, origin, words_T, budget, limit, marks_T, is_kept_T, group_O, kept, counts):
    """Hide the recurring spans of one sequence, all occurrences but one, until its budget is met.

    A draw of a group owns two counters, the group and the occurrence that is kept. Return how many tokens are hidden
    and the next counter.
    """
    first_O, size_O, border_G = clusters
    order_G = np.arange(len(border_G) - 1)
    num_hidden, counter = 0, 0
    for left in range(len(order_G), 0, -1):
        if num_hidden >= budget:
            break
        place = below(key, counter, left)
        group = order_G[place]
        order_G[place] = order_G[left - 1]
        first, last = border_G[group], border_G[group + 1]
        chosen = first + below(key, counter + 1, last - first)
        counter += 2
        begin, end = origin + first_O[chosen], origin + first_O[chosen] + size_O[chosen]
        for t in range(begin, end):
            is_kept_T[t] = words_T[t]
        before = num_hidden
        for o in range(first, last):
            if o != chosen and num_hidden < budget:
                start, mark = origin + first_O[o], LONE + 1 + counts[0]
                num_hidden = hide(start, start + size_O[o], words_T, NO_BUDGET, limit, num_hidden, marks_T, mark)
                group_O[counts[0]] = counts[1]
                counts[0] += 1
        is_whole = num_hidden - before == size_O[first] * (last - first - 1)  # else some is visible beside what is kept
        kept[counts[1], 0] = begin if is_whole else -1
        kept[counts[1], 1] = end if is_whole else -1
        counts[1] += 1
    return num_hidden, counter


@njit
def _dissolve(first, last, marks_T, group_O, kept):
    """Make the spans of groups of which not exactly one occurrence is visible spans without a group."""
    for t in range(first, last):
        if marks_T[t] > LONE:
            group = group_O[marks_T[t] - LONE - 1]
            if kept[group, 0] < 0 or marks_T[kept[group, 0] : kept[group, 1]].any():
                kept[group] = -1
                marks_T[t] = LONE


@njit
def _fill(key, counter, start_W, end_W, law, words_T, budget, limit, num_hidden, marks_T, is_kept_T):
    """Hide a geometric span from each word, in random order, until the budget is met; kept words come last, by words.

    Return how many tokens of the sequence are hidden then.
    """
    num_words, num_left_out = len(start_W), 0
    order_W = np.arange(num_words)
    for visited in range(num_words):
        if num_hidden >= budget:
            break
        place = visited + below(key, counter + 1, num_words - visited)
        word, order_W[place] = order_W[place], order_W[visited]
        past = min(num_words, word + 1 + draw(law, mix(key, counter)))
        counter += 2
        if is_kept_T[start_W[word]]:
            order_W[num_left_out] = word
            num_left_out += 1
        elif not marks_T[start_W[word]]:
            end = word + 1
            while end < past and start_W[end] == end_W[end - 1] and not is_kept_T[start_W[end]]:
                end += 1
            begin, last = start_W[word], end_W[end - 1]
            num_hidden = hide(begin, last, words_T, budget, limit, num_hidden, marks_T, LONE)
    for i in range(num_left_out):
        if num_hidden < budget:
            begin, last = start_W[order_W[i]], end_W[order_W[i]]
            num_hidden = hide(begin, last, words_T, budget, limit, num_hidden, marks_T, LONE)
    return num_hidden
