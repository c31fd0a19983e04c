"""Masking of named entities or noun phrases: half such phrases, half random whole words.

Source: Joshi et al. 2020 (SpanBERT), section 5.1 ("Named Entities", "Noun Phrases").
Letters: T tokens in the pack, S sequences, W words and P phrases of one sequence.
"""

from typing import Literal

import numpy as np

from spanwise.config import part
from spanwise.config.ranges import Share
from spanwise.errors import ConfigError
from spanwise.pretraining.masking.base import mask_by
from spanwise.pretraining.masking.merge import LONE, NO_BUDGET, hide, list_words, longest_sequence, no_marks
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below, uniform
from spanwise.text.tags import BEGINS, GOES_ON


@part("tagged_phrases")
class TaggedPhrases:
    """Hide tagged phrases and single words until the budget ceil(ratio * n) of a sequence is reached.

    Each draw takes a phrase with chance `phrase_share`, else a word; all phrases of a sequence are alike, all words
    too, and none is drawn twice. Where the phrases are used up, or a sequence has none, words alone are drawn. A phrase
    covers whole words; the last one is finished (`end="words"`), or cut where the budget ends (`end="budget"`).

    The tags are a side array of the store, made by `spanwise prepare --tag NAME`; phrases that touch stay two.

    Differs: the released code draws phrases with replacement from a bit for each token, in which touching phrases are
    one, cuts the last one, never ends where a block has no phrase and `phrase_share` is 1, and takes geometric spans
    for the other half.
    """

    tags: str = "entities"  # name of the store's side array
    phrase_share: Share = 0.5
    ratio: Share = 0.15  # share of a sequence's maskable tokens
    end: Literal["words", "budget"] = "words"

    def __post_init__(self) -> None:
        if not self.tags:
            raise ConfigError("masking.tags names no side array; write the name that `prepare --tag` was given.")

    @property
    def side_arrays(self) -> tuple[str, ...]:
        """The side arrays of the store that a pack must carry."""
        return (self.tags,)

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the spans of a pack; keys uint64 [S]. See `MaskingScheme.select`.

        Raises: ConfigError for a pack without the tags.
        """
        tags_T = pack.side.get(self.tags)
        if tags_T is None:
            raise ConfigError(
                f"masking TaggedPhrases reads the tags '{self.tags}', which plain text does not have; take a store "
                f"made with `spanwise prepare --tag {self.tags}`."
            )
        options = (tags_T, self.phrase_share, self.end == "budget")
        return mask_by(_mark, pack, keys, self.ratio, capacity, *options)


@njit
def _mark(borders, maskable_T, words_T, keys_S, budgets_S, capacity, tags_T, phrase_share, strict):
    marks_T = no_marks(len(maskable_T))
    room, reserved = capacity, budgets_S.sum()
    longest = longest_sequence(borders)
    words = np.empty((2, longest), dtype=np.int64)  # starts and ends
    phrases = np.empty((2, longest), dtype=np.int64)
    for s in range(len(budgets_S)):
        first, last, budget, key = borders[s], borders[s + 1], budgets_S[s], keys_S[s]
        reserved -= budget
        limit = budget if strict else room - reserved
        words_left = list_words(first, last, maskable_T, words_T, words[0], words[1])
        phrases_left = list_phrases(first, last, maskable_T, words_T, tags_T, phrases[0], phrases[1])
        num_hidden, counter = 0, 0
        while num_hidden < budget:
            # a draw owns two counters, its kind and its place; what was drawn makes room for the last of its list
            if phrases_left and uniform(key, counter) < phrase_share:
                start, end = _take(phrases, below(key, counter + 1, phrases_left), phrases_left)
                phrases_left -= 1
            else:
                start, end = _take(words, below(key, counter + 1, words_left), words_left)
                words_left -= 1
            counter += 2
            num_hidden = hide(start, end, words_T, NO_BUDGET, limit, num_hidden, marks_T, LONE)
        room -= num_hidden
    return marks_T


@njit
def list_phrases(first, last, maskable_T, words_T, tags_T, start_P, end_P):
    """Write the tagged phrases of the tokens [first, last) to start_P and end_P, half-open; return how many there are.

    A phrase begins at a BEGINS, or where a sequence begins inside one; it is widened to whole words.
    """
    num_phrases = 0
    t = first
    while t < last:
        if not maskable_T[t] or (tags_T[t] != BEGINS and tags_T[t] != GOES_ON):
            t += 1
            continue
        start = t
        while start > first and not words_T[start]:
            start -= 1
        t += 1
        while t < last and maskable_T[t] and tags_T[t] == GOES_ON:
            t += 1
        end = t
        while end < last and maskable_T[end] and not words_T[end]:
            end += 1
        start_P[num_phrases], end_P[num_phrases] = start, end
        num_phrases += 1
    return num_phrases


@njit
def _take(ranges, place, count):
    """Return (start, end) number `place` of `count`, and put the last one in its place."""
    start, end = ranges[0, place], ranges[1, place]
    ranges[0, place], ranges[1, place] = ranges[0, count - 1], ranges[1, count - 1]
    return start, end
