"""Masking of spans that recur in a text, all of their occurrences but one: what is hidden can be found elsewhere.

Source: Ram et al. 2021 (Splinter), section 3: spans that a passage repeats teach to look for an answer in it.
Letters: T tokens in the pack, S sequences, W words of one sequence, K lengths, V vocabulary, G groups, O occurrences.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from spanwise.config import part
from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import ConfigError
from spanwise.pretraining.masking import lengths as laws
from spanwise.pretraining.masking.alias import AliasTable, draw
from spanwise.pretraining.masking.base import checked_ratio, mask_by
from spanwise.pretraining.masking.merge import LONE, NO_BUDGET, hide, list_words, longest_sequence, no_marks
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below, mix


@njit
def recurring(start_W, end_W, ids_T, is_frequent_V, unk_id, max_words):
    """Find the recurring spans of one sequence of W words.

    Returns (first word [O], number of words [O], borders [G+1]) of O occurrences in G groups, longest spans first;
    group g has the occurrences borders[g] to borders[g + 1], in order. Occurrences are disjoint, at least two a group;
    words are equal where 64-bit hashes of their tokens are.
    """
    num_words = len(start_W)
    hash_W, is_rare_W = _hashes(start_W, end_W, ids_T, is_frequent_V, unk_id)
    next_, longest = _chains(start_W, end_W, hash_W, max_words)
    first_O, size_O = np.empty(num_words, dtype=np.int64), np.empty(num_words, dtype=np.int64)
    border_G = np.zeros(num_words + 1, dtype=np.int64)
    is_taken_W = np.zeros(num_words, dtype=np.bool_)
    is_later_W = np.empty(num_words, dtype=np.bool_)  # already looked at as a later occurrence
    num_found, num_groups = 0, 0
    for n in range(longest, 0, -1):
        is_later_W[:] = False
        for earliest in range(num_words):
            w, free_from = int(earliest), 0
            if is_later_W[earliest] or next_[n, earliest] < 0:
                continue
            while w >= 0:
                is_later_W[w] = True
                if w >= free_from and not is_taken_W[w : w + n].any() and is_rare_W[w : w + n].any():
                    first_O[num_found], size_O[num_found] = w, n
                    num_found += 1
                    free_from = w + n
                w = next_[n, w]
            if num_found - border_G[num_groups] < 2:
                num_found = border_G[num_groups]
                continue
            for o in range(border_G[num_groups], num_found):
                is_taken_W[first_O[o] : first_O[o] + n] = True
            num_groups += 1
            border_G[num_groups] = num_found
    return first_O[:num_found], size_O[:num_found], border_G[: num_groups + 1]


@njit
def _hashes(start_W, end_W, ids_T, is_frequent_V, unk_id):
    """Return a hash of the tokens of each word, uint64 [W], and whether one of them is rare, bool [W]."""
    hash_W = np.zeros(len(start_W), dtype=np.uint64)
    is_rare_W = np.zeros(len(start_W), dtype=np.bool_)
    for w in range(len(start_W)):
        for t in range(start_W[w], end_W[w]):
            token = ids_T[t]
            hash_W[w] = mix(hash_W[w], token)
            if token == unk_id:
                hash_W[w] = mix(hash_W[w], start_W[w] + 1)  # equals nothing
            elif token >= len(is_frequent_V) or not is_frequent_V[token]:
                is_rare_W[w] = True
    return hash_W, is_rare_W


@njit
def _chains(start_W, end_W, hash_W, max_words):
    """Return where the n words from each word on come again, int64 [max_words + 1, W], -1 where they don't, and the
    largest such n. A span recurs only if it does without its last word."""
    num_words = len(start_W)
    next_ = np.full((max_words + 1, num_words), -1, dtype=np.int64)
    length_W = np.zeros(num_words, dtype=np.int64)  # the longest n of each word
    span_W = hash_W.copy()
    size = 8  # of the table: a power of two of at least twice the words, so that a place is soon found
    while size < 2 * num_words:
        size *= 2
    table = np.empty(size, dtype=np.int64)
    last_W = np.empty(num_words, dtype=np.int64)
    longest = 0
    for n in range(1, max_words + 1):
        table[:] = -1
        for w in range(num_words):
            end = w + n - 1
            if length_W[w] < n - 1 or end >= num_words or (n > 1 and start_W[end] != end_W[end - 1]):
                continue
            if n > 1:
                span_W[w] = mix(span_W[w], n) ^ hash_W[end]
            slot = np.int64(span_W[w] >> np.uint64(1)) & (size - 1)
            while table[slot] >= 0 and span_W[table[slot]] != span_W[w]:
                slot = (slot + 1) & (size - 1)
            if table[slot] < 0:
                table[slot] = w
            else:
                next_[n, last_W[table[slot]]] = w
                length_W[table[slot]] = length_W[w] = longest = n
            last_W[table[slot]] = w
        if longest < n:
            break
    return next_, longest


NO_LAW = np.zeros((0, 2), dtype=np.uint64)
NO_WORD_IS_FREQUENT = np.zeros(0, dtype=np.bool_)


@dataclass(frozen=True, kw_only=True)
class Recurring:
    """Base of the schemes that hide spans of up to `max_words` whole words that occur again in their sequence.

    The longest recurring spans are looked for first, and a word belongs to one of them; of the spans of a sequence one
    after the other is drawn, an occurrence of it to keep, and the others are hidden: they are a group of `Spans`, whose
    kept occurrence is the only one that is left.

    A span of nothing but frequent words (`of the`) is none. A word is frequent if each of its tokens makes up more than
    `frequent_share` of the corpus: no list of stop words of any language is needed, and [UNK] equals nothing. What is
    frequent is known once the scheme is bound to a vocabulary with counts, as every run does; unbound, no word is.
    """

    gives: ClassVar[frozenset[str]]

    max_words: int = 10
    ratio: float = 0.15  # share of a sequence's maskable tokens
    frequent_share: float = 0.001
    end: Literal["words", "budget"] = "words"

    def __post_init__(self) -> None:
        checked_ratio(self.ratio)
        if self.max_words < 1:
            raise ConfigError(f"masking.max_words must be at least 1, got {self.max_words}.")
        if not 0.0 <= self.frequent_share <= 1.0:
            raise ConfigError(f"masking.frequent_share must be from 0 to 1, got {self.frequent_share}.")
        _ = self.fill  # raises here, not at the first batch

    @cached_property
    def fill(self) -> AliasTable | None:
        """The law of the numbers of words, counted from one, of the spans that fill the budget; None: nothing does."""
        return None

    def for_vocabulary(self, vocabulary: Vocabulary) -> BoundRecurring:
        """Return the scheme with the frequent tokens of a vocabulary."""
        total = max(1, int(vocabulary.unigram_counts.sum()))
        is_frequent_V = vocabulary.unigram_counts / total > self.frequent_share
        return BoundRecurring(scheme=self, is_frequent=is_frequent_V, unk_id=vocabulary.unk_id)

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the spans of a pack with no word taken for frequent. See `MaskingScheme.select`."""
        bound = BoundRecurring(scheme=self, is_frequent=NO_WORD_IS_FREQUENT, unk_id=-1)
        return bound.select(pack, keys, capacity=capacity)


@part("recurring_groups")
class RecurringGroups(Recurring):
    """Hide recurring spans alone, until the budget is reached or a text repeats nothing more.

    A group is hidden as a whole or not at all: the last one may go beyond the budget (`end="words"`), or those that
    don't fit are left out (`end="budget"`).

    Differs: Splinter counts the length of a span and the budget otherwise (in word pieces, in spans), and has a list of
    English stop words.
    """

    gives: ClassVar[frozenset[str]] = frozenset({"spans", "groups"})


@part("recurring_spans")
class RecurringSpans(Recurring):
    """Hide recurring spans, and fill the rest of the budget, or all of it in a text that repeats nothing, by geometric
    spans, which touch a kept occurrence last.

    The last group may be hidden in part, where the budget ends; its spans then belong to no group.
    """

    gives: ClassVar[frozenset[str]] = frozenset({"spans", "groups", "lone_spans"})

    p: float = 0.2  # of the geometric spans: chance that one ends after each word

    @cached_property
    def fill(self) -> AliasTable | None:
        """The law of the geometric spans' numbers of words, counted from one."""
        return AliasTable.from_weights(laws.geometric(self.p, self.max_words))


@dataclass(frozen=True, kw_only=True, eq=False)
class BoundRecurring:
    """The scheme of a run; `is_frequent` is [V] bool."""

    scheme: Recurring
    is_frequent: np.ndarray
    unk_id: int

    @property
    def ratio(self) -> float:
        return self.scheme.ratio

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the spans of a pack; keys uint64 [S]. See `MaskingScheme.select`."""
        scheme = self.scheme
        texts = (pack.input_ids, self.is_frequent, self.unk_id)
        law = NO_LAW if scheme.fill is None else scheme.fill.columns
        options = (law, scheme.max_words, scheme.end == "budget", scheme.fill is None)
        return mask_by(_mark, pack, keys, self.ratio, capacity, *texts, *options)


@njit
def _mark(
    borders, maskable_T, words_T, keys_S, budgets_S, capacity, ids_T, is_frequent_V, unk_id, law, max_words, strict,
    groups_alone,
):  # fmt: skip
    marks_T = no_marks(len(maskable_T))
    is_kept_T = np.zeros(len(maskable_T), dtype=np.bool_)  # true at the start of each word that is kept
    group_O, kept = np.empty(len(maskable_T), dtype=np.int64), np.empty((len(maskable_T), 2), dtype=np.int64)
    longest = longest_sequence(borders)
    start_W, end_W = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    room, reserved = capacity, budgets_S.sum()
    counts = np.zeros(4, dtype=np.int64)  # spans drawn, spans cut, occurrences in groups, groups
    for s in range(len(budgets_S)):
        budget, key = budgets_S[s], keys_S[s]
        reserved -= budget
        limit = budget if strict else room - reserved
        num_words = list_words(borders[s], borders[s + 1], maskable_T, words_T, start_W, end_W)
        starts, ends = start_W[:num_words], end_W[:num_words]
        num_hidden, counter = _hide_groups(
            key, starts, ends, ids_T, is_frequent_V, unk_id, max_words, words_T, budget, limit, groups_alone,
            marks_T, is_kept_T, group_O, kept, counts,
        )  # fmt: skip
        if not groups_alone:
            num_hidden = _fill(
                key, counter, starts, ends, law, words_T, budget, limit, num_hidden, marks_T, is_kept_T, counts
            )
        _dissolve(borders[s], borders[s + 1], marks_T, group_O, kept)
        room -= num_hidden
    num_drawn, num_cut, num_occurrences, num_groups = counts
    return marks_T, num_drawn, 0 if strict else num_cut, group_O[:num_occurrences].copy(), kept[:num_groups].copy()


@njit
def _hide_groups(
    key, start_W, end_W, ids_T, is_frequent_V, unk_id, max_words, words_T, budget, limit, groups_alone, marks_T,
    is_kept_T, group_O, kept, counts,
):  # fmt: skip
    """Hide the recurring spans of one sequence, all occurrences but one, until its budget is met.

    A draw of a group owns two counters, the group and the occurrence that is kept. Return how many tokens are hidden
    and the next counter.
    """
    first_O, size_O, border_G = recurring(start_W, end_W, ids_T, is_frequent_V, unk_id, max_words)
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
        size = 0
        for o in range(first, last):
            if o != chosen:
                size += end_W[first_O[o] + size_O[o] - 1] - start_W[first_O[o]]
        if groups_alone and num_hidden + size > limit:
            continue
        for word in range(first_O[chosen], first_O[chosen] + size_O[chosen]):
            is_kept_T[start_W[word]] = True
        before = num_hidden
        for o in range(first, last):
            if o != chosen and num_hidden < (limit if groups_alone else budget):
                begin, end = start_W[first_O[o]], end_W[first_O[o] + size_O[o] - 1]
                mark = LONE + 1 + counts[2]
                num_hidden, cut = hide(begin, end, words_T, NO_BUDGET, limit, num_hidden, marks_T, mark)
                group_O[counts[2]] = counts[3]
                counts[0] += 1
                counts[1] += cut
                counts[2] += 1
        is_whole = num_hidden - before == size  # else some of it is visible beside what is kept
        kept[counts[3], 0] = start_W[first_O[chosen]] if is_whole else -1
        kept[counts[3], 1] = end_W[first_O[chosen] + size_O[chosen] - 1] if is_whole else -1
        counts[3] += 1
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
def _fill(key, counter, start_W, end_W, law, words_T, budget, limit, num_hidden, marks_T, is_kept_T, counts):
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
            counts[0] += 1
            begin, last = start_W[word], end_W[end - 1]
            num_hidden, cut = hide(begin, last, words_T, budget, limit, num_hidden, marks_T, LONE)
            counts[1] += cut
    for i in range(num_left_out):
        if num_hidden < budget:
            begin, last = start_W[order_W[i]], end_W[order_W[i]]
            num_hidden, cut = hide(begin, last, words_T, budget, limit, num_hidden, marks_T, LONE)
            counts[0] += 1
            counts[1] += cut
    return num_hidden
