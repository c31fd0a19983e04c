"""ALBERT's masking: n-grams of one to three whole words, short ones more often.

Source: Lan et al. 2020 (ALBERT), section 4.1: P(n) = (1/n) / sum over k of (1/k), n up to 3; released code.
Letters: T tokens in the pack, S sequences, W words of one sequence, K lengths.
"""

from functools import cached_property
from typing import Literal

import numpy as np

from spanwise.config import part
from spanwise.config.ranges import Share, Words
from spanwise.pretraining.masking.alias import AliasTable, draw
from spanwise.pretraining.masking.base import mask_by
from spanwise.pretraining.masking.merge import LONE, hide, list_words, longest_sequence, no_marks
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below, mix


@part("n_grams")
class NGrams:
    """Hide n-grams of whole words until the budget ceil(ratio * n) of a sequence is reached.

    The words of a sequence are visited in random order, each once. A length is drawn for each; where so many words
    would pass the budget, fewer are tried; an n-gram that meets a hidden word is left out. Words that were left out are
    hidden one by one, should the budget not be reached without them.

    Differs: the released code leaves out a word that does not fit the rest of the budget, which hides long words less
    often; here the last word is finished (`end="words"`) or cut (`end="budget"`). Its n-grams may overlap, because its
    check ends the wrong loop, and may reach over a separator; these never do.
    """

    max_words: Words = 3
    ratio: Share = 0.15  # share of a sequence's maskable tokens
    end: Literal["words", "budget"] = "words"

    @cached_property
    def length_probabilities(self) -> np.ndarray:
        """Probabilities of the lengths 1 to max_words, float64 [K]: 6/11, 3/11, 2/11 for three."""
        weights_K = 1.0 / np.arange(1, self.max_words + 1)
        return weights_K / weights_K.sum()

    @cached_property
    def _table(self) -> AliasTable:
        return AliasTable.from_weights(self.length_probabilities)

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the spans of a pack; keys uint64 [S]. See `MaskingScheme.select`."""
        return mask_by(_mark, pack, keys, self.ratio, capacity, self._table.columns, self.end == "budget")


@njit
def _mark(borders, maskable_T, words_T, keys_S, budgets_S, capacity, law, strict):
    marks_T = no_marks(len(maskable_T))
    room, reserved = capacity, budgets_S.sum()
    longest = longest_sequence(borders)
    start_W, end_W = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    order_W = np.empty(longest, dtype=np.int64)
    for s in range(len(budgets_S)):
        budget, key = budgets_S[s], keys_S[s]
        reserved -= budget
        limit = budget if strict else room - reserved
        num_words = list_words(borders[s], borders[s + 1], maskable_T, words_T, start_W, end_W)
        for word in range(num_words):
            order_W[word] = word
        num_hidden, num_visited, num_left_out = 0, 0, 0
        while num_hidden < budget and num_visited < num_words:
            # a visit owns two counters, its length and its word; visited places of order_W are free for the left-out
            place = num_visited + below(key, 2 * num_visited + 1, num_words - num_visited)
            word, order_W[place] = order_W[place], order_W[num_visited]
            past = word + 1 + draw(law, mix(key, 2 * num_visited))
            num_visited += 1
            past = _fitting(word, min(past, num_words), start_W, end_W, budget - num_hidden)
            meets_hidden = False
            for other in range(word, past):
                meets_hidden |= marks_T[start_W[other]] != 0
            if meets_hidden:
                order_W[num_left_out] = word
                num_left_out += 1
                continue
            begin, end = start_W[word], end_W[past - 1]
            num_hidden = hide(begin, end, words_T, budget, limit, num_hidden, marks_T, LONE)
        for i in range(num_left_out):  # none in running text at 15 %
            word = order_W[i]
            if num_hidden >= budget:
                break
            if not marks_T[start_W[word]]:
                begin, end = start_W[word], end_W[word]
                num_hidden = hide(begin, end, words_T, budget, limit, num_hidden, marks_T, LONE)
        room -= num_hidden
    return marks_T


@njit
def _fitting(word, past, start_W, end_W, room):
    """Return the end of the words that begin at `word`: `past` or less, without a special inside, in `room` tokens.

    One word is always left.
    """
    end = word + 1
    while end < past and start_W[end] == end_W[end - 1] and end_W[end] - start_W[word] <= room:
        end += 1
    return end
