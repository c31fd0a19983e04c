"""Masking of spans that recur in a text, all of their occurrences but one: what is hidden can be found elsewhere.

Source: Ram et al. 2021 (Splinter), section 3.1, and the released code: clusters are drawn in random order until
min(30, max(1, round(0.15 * length))) spans are hidden, each cluster by all of its occurrences but one.
Letters: T tokens in the pack, S sequences, V vocabulary, G groups, O occurrences.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from spanwise.config import part
from spanwise.config.ranges import Length, Share, Words
from spanwise.data.vocabulary import Vocabulary
from spanwise.pretraining.masking.base import checked_capacity, num_maskable
from spanwise.pretraining.masking.clusters import find_clusters, room_for
from spanwise.pretraining.masking.merge import LONE, longest_sequence, no_marks, spans_of, word_starts
from spanwise.pretraining.masking.stop_words import StopWords, kinds_of_pieces
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below

NO_KINDS: np.ndarray = np.zeros(0, dtype=np.uint8)
"""Of a scheme that is not bound to a vocabulary: every id may be in a cluster, none is a stop word."""


@dataclass(frozen=True, kw_only=True)
class Recurring(ABC):
    """Base of the schemes that hide spans which occur again in their sequence; masking/clusters.py says which these
    are.

    A span has up to `max_pieces` tokens, all alphanumeric, and is no row of stop words; these are tokens that make up
    more than `frequent_share` of the corpus, of any language, or those of a list (`stop_words="english"`). Of the
    clusters of a sequence one after the other is drawn, an occurrence of it to keep, and the others are hidden: they
    are a group of `Spans`, whose kept occurrence stays visible. What pieces are is known once the scheme is bound to a
    vocabulary, as every run does; unbound, all may be in a span and none is a stop word.
    """

    gives: ClassVar[frozenset[str]]

    max_pieces: Words = 10
    ratio: Share = 0.15
    stop_words: StopWords = "counted"
    frequent_share: Share = 0.001

    def for_vocabulary(self, vocabulary: Vocabulary) -> BoundRecurring:
        """Return the scheme with what each piece of a vocabulary is to a span."""
        return BoundRecurring(self, kinds_of_pieces(vocabulary, self.stop_words, self.frequent_share))

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the spans of a pack as an unbound scheme knows them. See `MaskingScheme.select`."""
        return self.select_among(NO_KINDS, pack, keys, capacity)

    @abstractmethod
    def select_among(self, kinds: np.ndarray, pack: Pack, keys: np.ndarray, capacity: int | None) -> Spans:
        """Return the spans of a pack; `kinds` [V] uint8 says what each id is to a cluster."""


@dataclass(frozen=True, eq=False)
class BoundRecurring:
    """The scheme of a run; `kinds` [V] uint8 says what each id is to a cluster."""

    scheme: Recurring
    kinds: np.ndarray

    @property
    def ratio(self) -> float:
        return self.scheme.ratio

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the spans of a pack; keys uint64 [S]. See `MaskingScheme.select`."""
        return self.scheme.select_among(self.kinds, pack, keys, capacity)


@part("recurring_groups")
class RecurringGroups(Recurring):
    """Hide recurring spans alone: `ratio` spans per token of the sequence, specials included, one at least where
    something recurs, and never more than `max_spans`.

    A cluster that has more occurrences than may still be hidden is left out (`end="groups"`), so that what is hidden
    has one answer in its sequence; or its first ones are hidden and the rest stays beside the answer (`end="spans"`),
    as in Splinter's code. With a capacity, in tokens, clusters that do not fit it are left out too.
    """

    gives: ClassVar[frozenset[str]] = frozenset({"spans", "groups"})
    counts_spans: ClassVar[bool] = True

    max_spans: Length = 30
    end: Literal["groups", "spans"] = "groups"

    def budgets(self, pack: Pack) -> np.ndarray:
        """Return how many spans may be hidden in each sequence, int64 [S]."""
        asked_S = np.maximum(1, np.rint(self.ratio * np.diff(pack.borders))) if self.ratio else np.zeros(1)
        return np.minimum(np.minimum(asked_S, self.max_spans), num_maskable(pack)).astype(np.int64)

    def select_among(self, kinds: np.ndarray, pack: Pack, keys: np.ndarray, capacity: int | None) -> Spans:
        """Return the spans of a pack. See `Recurring.select_among`."""
        budgets_S = self.budgets(pack)
        words_T = word_starts(pack.borders, pack.maskable, pack.starts_word)
        text = (pack.borders, pack.input_ids, pack.maskable, words_T, kinds)
        limits = (budgets_S, checked_capacity(capacity, budgets_S), self.max_pieces, self.end == "spans")
        marks_T, group_O, kept = _mark(*text, keys, *limits)
        return spans_of(marks_T, pack.borders, group_O=group_O, kept=kept)


@njit
def _mark(borders, ids_T, maskable_T, words_T, kinds_V, keys_S, budgets_S, capacity, max_pieces, in_part):
    """A draw of a cluster owns two counters: the cluster and the occurrence that is kept."""
    marks_T = no_marks(len(ids_T))
    group_O, kept = np.empty(len(ids_T), dtype=np.int64), np.empty((len(ids_T), 2), dtype=np.int64)
    longest = longest_sequence(borders)
    room, order_G = room_for(longest, max_pieces), np.empty(longest, dtype=np.int64)
    num_hidden, num_groups, spare = 0, 0, capacity - budgets_S.sum()  # a token of each span is set aside
    for s in range(len(budgets_S)):
        first, last, left = borders[s], borders[s + 1], budgets_S[s]
        if not left:
            continue
        first_O, size_O, border_G = find_clusters(
            ids_T[first:last], maskable_T[first:last], words_T[first:last], kinds_V, max_pieces, room
        )
        for g in range(len(border_G) - 1):
            order_G[g] = g
        counter = 0
        for unseen in range(len(border_G) - 1, 0, -1):
            if not left:
                break
            place = below(keys_S[s], counter, unseen)
            cluster, order_G[place] = order_G[place], order_G[unseen - 1]
            begin, end = border_G[cluster], border_G[cluster + 1]
            chosen = begin + below(keys_S[s], counter + 1, end - begin)
            counter += 2
            size, count = size_O[begin], min(left, end - begin - 1)
            if (end - begin - 1 > left and not in_part) or count * (size - 1) > spare:
                continue
            kept[num_groups, 0] = first + first_O[chosen]
            kept[num_groups, 1] = kept[num_groups, 0] + size
            spare -= count * (size - 1)
            left -= count
            for o in range(begin, end):
                if o != chosen and count:
                    marks_T[first + first_O[o] : first + first_O[o] + size] = LONE + 1 + num_hidden
                    group_O[num_hidden] = num_groups
                    num_hidden += 1
                    count -= 1
            num_groups += 1
        spare += left  # set aside in vain
    return marks_T, group_O[:num_hidden].copy(), kept[:num_groups].copy()
