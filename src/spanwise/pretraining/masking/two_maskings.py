"""Two maskings in one sequence: what the first one leaves, the second one may hide.

With recurring spans first and geometric spans second a sequence has questions and hidden words, so selection, masked LM
and the span boundary objective learn from one pass.

Source: Ram et al. 2021 (Splinter), released code, where masked LM beside selection is an option of this kind.
Letters: T tokens in the pack, S sequences.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pydantic import SkipValidation

from spanwise.config import part
from spanwise.data.vocabulary import Vocabulary
from spanwise.pretraining.masking.base import (
    CapacityError,
    MaskingScheme,
    bound,
    check_masking,
    counts_spans,
    given_by,
    least_room,
    num_maskable,
    side_arrays_of,
)
from spanwise.pretraining.masking.checked import selected
from spanwise.pretraining.masking.geometric_spans import GeometricSpans
from spanwise.pretraining.masking.merge import join_spans, without_seams
from spanwise.pretraining.masking.recurring_groups import RecurringGroups
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import child_key

NOTHING_KEPT = np.zeros((0, 2), dtype=np.int64)


@part("two_maskings")
class TwoMaskings:
    """Hide by `first`, then by `then` among the tokens that `first` neither hid nor keeps as an answer.

    Each has its own share: `ratio` is that of `then`, which counts the tokens that are left to it. Where a pack has a
    capacity, `then` has its share of it for certain and `first` what is over.
    """

    first: SkipValidation[MaskingScheme] = RecurringGroups()
    then: SkipValidation[MaskingScheme] = GeometricSpans()

    def __post_init__(self) -> None:
        check_masking("first", self.first)
        check_masking("then", self.then)

    @property
    def ratio(self) -> float:
        return self.then.ratio

    @property
    def gives(self) -> frozenset[str]:
        """The kinds of spans that any of both gives."""
        return (given_by(self.first) | given_by(self.then)) - {"whole_text"}

    @property
    def counts_spans(self) -> bool:
        """Whether any of both counts spans."""
        return counts_spans(self.first) or counts_spans(self.then)

    @property
    def side_arrays(self) -> tuple[str, ...]:
        return side_arrays_of((self.first, self.then))

    def for_vocabulary(self, vocabulary: Vocabulary) -> TwoMaskings:
        """Return the two as they work with this vocabulary."""
        return replace(self, first=bound(self.first, vocabulary), then=bound(self.then, vocabulary))

    def least_room(self, num_maskable: np.ndarray) -> np.ndarray:
        """Return the room that both need in each sequence, int64 [S]: the second may find all tokens left to it."""
        return least_room(self.first, num_maskable) + least_room(self.then, num_maskable)

    def select(self, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
        """Return the spans of a pack; keys uint64 [S]. See `MaskingScheme.select`."""
        of_then = 0 if capacity is None else int(least_room(self.then, num_maskable(pack)).sum())
        try:
            room = None if capacity is None else capacity - of_then
            spans = selected(self.first, pack, _keys(keys, 0), capacity=room)
        except CapacityError as error:
            raise CapacityError(f"{error} Of max_targets={capacity}, {of_then} are for the second masking.") from error
        rest = replace(pack, maskable=_left(pack.maskable, spans))
        left = None if capacity is None else capacity - int((spans.end - spans.start).sum())
        return without_seams(join_spans([spans, selected(self.then, rest, _keys(keys, 1), capacity=left)]))


def _left(maskable_T: np.ndarray, spans: Spans) -> np.ndarray:
    """Return which tokens are neither hidden nor kept, bool [T]."""
    kept_G2 = NOTHING_KEPT if spans.kept is None else spans.kept
    return _without(maskable_T, np.append(spans.start, kept_G2[:, 0]), np.append(spans.end, kept_G2[:, 1]))


@njit
def _without(maskable_T, starts, ends):
    left_T = maskable_T.copy()
    for i in range(len(starts)):
        if starts[i] >= 0:
            left_T[starts[i] : ends[i]] = False
    return left_T


@njit
def _keys(keys_S, number):
    """Return a key of its own for each masking of each sequence, uint64 [S]."""
    own_S = np.empty(len(keys_S), dtype=np.uint64)
    for s in range(len(keys_S)):
        own_S[s] = child_key(keys_S[s], number)
    return own_S
