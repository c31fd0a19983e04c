"""Masking of spans that recur in a text, all of their occurrences but one: what is hidden can be found elsewhere.

Source: Ram et al. 2021 (Splinter), section 3: spans that a passage repeats teach to look for an answer in it.
Letters: T tokens in the pack, S sequences, W words of one sequence, K lengths, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from spanwise.config import part
from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import ConfigError
from spanwise.pretraining.masking import lengths as laws
from spanwise.pretraining.masking.alias import AliasTable, draw
from spanwise.pretraining.masking.base import checked_capacity, checked_ratio, sequence_budgets
from spanwise.pretraining.masking.merge import no_token_hidden, runs
from spanwise.pretraining.masking.word_list import hide, list_words, longest_sequence
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below, mix

NO_WORD_IS_FREQUENT = np.zeros(0, dtype=np.bool_)


@part("recurring_spans")
class RecurringSpans:
    """Hide spans of up to `max_words` whole words that occur again in their sequence, until the budget is reached.

    The longest recurring spans are looked for first, and a word belongs to one of them; of the spans of a sequence one
    after the other is drawn, an occurrence of it to keep, and the others are hidden. The rest of the budget, or all of
    it in a text that repeats nothing, is filled by geometric spans, which touch a kept occurrence last.

    A span of nothing but frequent words (`of the`) is none. A word is frequent if each of its tokens makes up more than
    `frequent_share` of the corpus: no list of stop words of any language is needed, and [UNK] equals nothing. What is
    frequent is known once the scheme is bound to a vocabulary with counts, as every run does; unbound, no word is.

    Differs: Splinter puts one [QUESTION] token for a whole span, has a list of English stop words, and asks for the
    kept occurrence; here the tokens are hidden as by any other scheme, for any objective.
    """

    max_words: int = 10
    ratio: float = 0.15  # share of a sequence's maskable tokens
    frequent_share: float = 0.001
    p: float = 0.2  # of the geometric spans: chance that one ends after each word
    end: Literal["words", "budget"] = "words"

    def __post_init__(self) -> None:
        checked_ratio(self.ratio)
        if self.max_words < 1:
            raise ConfigError(f"masking.max_words must be at least 1, got {self.max_words}.")
        if not 0.0 <= self.frequent_share <= 1.0:
            raise ConfigError(f"masking.frequent_share must be from 0 to 1, got {self.frequent_share}.")
        _ = self._table  # raises here, not at the first batch

    @cached_property
    def _table(self) -> AliasTable:
        return AliasTable.from_weights(laws.geometric(self.p, self.max_words))

    def for_vocabulary(self, vocabulary: Vocabulary) -> BoundRecurringSpans:
        """Return the scheme with the frequent tokens of a vocabulary."""
        total = max(1, int(vocabulary.unigram_counts.sum()))
        is_frequent_V = vocabulary.unigram_counts / total > self.frequent_share
        return BoundRecurringSpans(scheme=self, is_frequent=is_frequent_V, unk_id=vocabulary.unk_id)

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the spans of a pack with no word taken for frequent. See `MaskingScheme.select`."""
        bound = BoundRecurringSpans(scheme=self, is_frequent=NO_WORD_IS_FREQUENT, unk_id=-1)
        return bound.select(pack, keys, capacity=capacity)


@dataclass(frozen=True, kw_only=True, eq=False)
class BoundRecurringSpans:
    """The scheme of a run; `is_frequent` is [V] bool."""

    scheme: RecurringSpans
    is_frequent: np.ndarray
    unk_id: int

    @property
    def ratio(self) -> float:
        return self.scheme.ratio

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the spans of a pack; keys uint64 [S]. See `MaskingScheme.select`."""
        share = checked_ratio(self.ratio)
        budgets_S = sequence_budgets(pack.borders, pack.maskable, share.numerator, share.denominator)
        sequence, start, end, num_drawn, num_cut = _select(
            pack.borders,
            pack.maskable,
            pack.starts_word,
            pack.input_ids,
            self.is_frequent,
            self.unk_id,
            keys,
            budgets_S,
            self.scheme._table.columns,
            self.scheme.max_words,
            self.scheme.end == "budget",
            checked_capacity(capacity, budgets_S),
        )
        return Spans(sequence=sequence, start=start, end=end, num_drawn=num_drawn, num_cut=num_cut)


@njit
def _select(
    borders, maskable_T, starts_word_T, ids_T, is_frequent_V, unk_id, keys_S, budgets_S, law, max_words, strict,
    capacity,
):  # fmt: skip
    reserved = budgets_S.sum()
    hidden_T = no_token_hidden(borders[-1])
    kept_T = no_token_hidden(borders[-1])  # a one at the start of each word that is kept
    room = capacity
    num_drawn, num_cut = 0, 0
    longest = longest_sequence(borders)
    start_W, end_W = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    for s in range(len(budgets_S)):
        budget, key = budgets_S[s], keys_S[s]
        reserved -= budget
        limit = budget if strict else room - reserved
        num_words = list_words(borders[s], borders[s + 1], maskable_T, starts_word_T, start_W, end_W)
        first_O, size_O, border_G = recurring(
            start_W[:num_words], end_W[:num_words], ids_T, is_frequent_V, unk_id, max_words
        )
        num_groups = len(border_G) - 1
        order_G = np.arange(num_groups)
        num_hidden, counter = 0, 0
        # a draw of a group owns two counters, the group and the occurrence that is kept
        for left in range(num_groups, 0, -1):
            if num_hidden >= budget:
                break
            place = below(key, counter, left)
            group = order_G[place]
            order_G[place] = order_G[left - 1]
            first, last = border_G[group], border_G[group + 1]
            kept = first + below(key, counter + 1, last - first)
            counter += 2
            for word in range(first_O[kept], first_O[kept] + size_O[kept]):
                kept_T[start_W[word]] = 1
            for o in range(first, last):
                if o != kept and num_hidden < budget:
                    begin, end = start_W[first_O[o]], end_W[first_O[o] + size_O[o] - 1]
                    num_hidden, cut = hide(begin, end, num_hidden, limit, hidden_T)
                    num_drawn += 1
                    num_cut += cut and not strict
        # then words in random order, each once, and a geometric span from each; what was kept comes last, by words
        order_W = np.arange(num_words)
        num_left_out = 0
        for visited in range(num_words):
            if num_hidden >= budget:
                break
            place = visited + below(key, counter + 1, num_words - visited)
            word, order_W[place] = order_W[place], order_W[visited]
            past = min(num_words, word + 1 + draw(law, mix(key, counter)))
            counter += 2
            if kept_T[start_W[word]]:
                order_W[num_left_out] = word
                num_left_out += 1
            elif not hidden_T[start_W[word]]:
                end = word + 1
                while end < past and start_W[end] == end_W[end - 1] and not kept_T[start_W[end]]:
                    end += 1
                num_drawn += 1
                for other in range(word, end):
                    if num_hidden < budget:
                        num_hidden, cut = hide(start_W[other], end_W[other], num_hidden, limit, hidden_T)
                        num_cut += cut and not strict
        for i in range(num_left_out):
            if num_hidden < budget:
                num_drawn += 1
                num_hidden, cut = hide(start_W[order_W[i]], end_W[order_W[i]], num_hidden, limit, hidden_T)
                num_cut += cut and not strict
        room -= num_hidden
    sequence_M, start_M, end_M = runs(hidden_T, borders, capacity - room)
    return sequence_M, start_M, end_M, num_drawn, num_cut


@njit
def recurring(start_W, end_W, ids_T, is_frequent_V, unk_id, max_words):
    """Find the recurring spans of one sequence of W words.

    Returns (first word [O], number of words [O], borders [G+1]) of O occurrences in G groups, longest spans first;
    group g has the occurrences borders[g] to borders[g + 1], in order. Occurrences are disjoint, at least two a group;
    equal words are told by 64-bit hashes of their tokens.
    """
    num_words = len(start_W)
    hash_W = np.empty(num_words, dtype=np.uint64)  # of the word
    is_rare_W = np.zeros(num_words, dtype=np.bool_)
    for w in range(num_words):
        hash_W[w] = np.uint64(0)
        for t in range(start_W[w], end_W[w]):
            token = ids_T[t]
            hash_W[w] = mix(hash_W[w], token)
            if token == unk_id:
                hash_W[w] = mix(hash_W[w], start_W[w] + 1)  # equals nothing
            elif token >= len(is_frequent_V) or not is_frequent_V[token]:
                is_rare_W[w] = True

    # next_[n, w]: where the n words from w on come again, -1 where they don't; length_W: the longest such n of a word.
    # A span recurs only if it does without its last word.
    next_ = np.full((max_words + 1, num_words), -1, dtype=np.int64)
    length_W = np.zeros(num_words, dtype=np.int64)
    span_W = hash_W.copy()
    table = np.empty(_table_size(num_words), dtype=np.int64)
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
            slot = np.int64(span_W[w] >> np.uint64(1)) & (len(table) - 1)
            while table[slot] >= 0 and span_W[table[slot]] != span_W[w]:
                slot = (slot + 1) & (len(table) - 1)
            if table[slot] < 0:
                table[slot] = w
            else:
                next_[n, last_W[table[slot]]] = w
                length_W[table[slot]] = length_W[w] = longest = n
            last_W[table[slot]] = w
        if longest < n:
            break

    first_O, size_O = np.empty(num_words, dtype=np.int64), np.empty(num_words, dtype=np.int64)
    border_G = np.zeros(num_words + 1, dtype=np.int64)
    is_taken_W = np.zeros(num_words, dtype=np.bool_)
    is_later_W = np.empty(num_words, dtype=np.bool_)  # already looked at as a later occurrence
    num_found, num_groups = 0, 0
    for n in range(longest, 0, -1):
        is_later_W[:] = False
        for leader in range(num_words):
            w, free_from = int(leader), 0
            if is_later_W[leader] or next_[n, leader] < 0:
                continue
            while w >= 0:
                is_later_W[w] = True
                if w >= free_from and not _any(is_taken_W, w, n) and _any(is_rare_W, w, n):
                    first_O[num_found], size_O[num_found] = w, n
                    num_found += 1
                    free_from = w + n
                w = next_[n, w]
            if num_found - border_G[num_groups] < 2:
                num_found = border_G[num_groups]
                continue
            for o in range(border_G[num_groups], num_found):
                for taken in range(first_O[o], first_O[o] + n):
                    is_taken_W[taken] = True
            num_groups += 1
            border_G[num_groups] = num_found
    return first_O[:num_found], size_O[:num_found], border_G[: num_groups + 1]


@njit
def _table_size(num_words):
    """Return a power of two of at least twice the words, so that a place is soon found."""
    size = 8
    while size < 2 * num_words:
        size *= 2
    return size


@njit
def _any(flags_W, first, count):
    found = False
    for w in range(first, first + count):
        found |= flags_W[w]
    return found
