"""The second masking hides among what the first one leaves, and both keep what they keep alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from real_text import real_pack
from toy_packs import hidden_of, pack_of, texts_of, with_ids

from spanwise.config import from_record, to_record
from spanwise.errors import ConfigError
from spanwise.pretraining.masking import (
    GeometricSpans,
    NoMasking,
    RecurringGroups,
    SubwordTokens,
    TaggedPhrases,
    TwoMaskings,
)
from spanwise.pretraining.masking.base import bound, given_by, least_room, num_maskable
from spanwise.pretraining.masking.merge import word_starts
from spanwise.pretraining.masking.mixture import of_sequences
from spanwise.pretraining.packs import Spans
from spanwise.runtime.seed import keys_for


def keys_of(pack, epoch: int = 0) -> np.ndarray:
    return keys_for(0, "masking", epoch, pack.block_ids)


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("then", [GeometricSpans(), SubwordTokens()])
def test_words_are_hidden_beside_questions_and_answers_stay(language, then):
    pack, _, vocabulary = real_pack(language)
    spans = bound(TwoMaskings(then=then), vocabulary).select(pack, keys_of(pack))
    is_question_M = spans.group >= 0
    questions = np.bincount(spans.sequence[is_question_M], minlength=60)
    assert (questions <= 30).all() and questions.mean() > 15
    assert (spans.start[1:] >= spans.end[:-1]).all()  # sorted, disjoint
    hidden_T = hidden_of(pack, spans)
    in_question_T = np.zeros(len(hidden_T), dtype=bool)
    for start, end in zip(spans.start[is_question_M], spans.end[is_question_M], strict=True):
        in_question_T[start:end] = True
    is_kept_T = np.zeros(len(hidden_T), dtype=bool)
    for group in np.unique(spans.group[is_question_M]):
        first, last = spans.kept[group]
        assert not hidden_T[first:last].any()
        is_kept_T[first:last] = True
        for m in np.flatnonzero(spans.group == group):
            assert pack.input_ids[spans.start[m] : spans.end[m]].tolist() == pack.input_ids[first:last].tolist()
    left = (pack.maskable & ~in_question_T & ~is_kept_T).reshape(60, -1).sum(axis=1)
    alone = (hidden_T & ~in_question_T).reshape(60, -1).sum(axis=1)
    budget = np.ceil(0.15 * left - 1e-9)
    assert (alone >= budget).all() and (alone <= budget + 10).all()
    starts_T = word_starts(pack.borders, pack.maskable, pack.starts_word) | ~pack.maskable
    if isinstance(then, GeometricSpans):
        lone = spans.end[~is_question_M]
        assert starts_T[spans.start[~is_question_M]].all() and starts_T[lone].all()  # words stay whole


def test_both_are_drawn_by_keys_of_their_own_whatever_else_is_in_the_pack():
    pack, _, vocabulary = real_pack("en")
    scheme = bound(TwoMaskings(), vocabulary)
    together, rows = scheme.select(pack, keys_of(pack)), np.array([5])
    alone = scheme.select(of_sequences(pack, rows), keys_of(pack)[rows])
    own = together.sequence == 5
    np.testing.assert_array_equal(together.start[own] - pack.borders[5], alone.start)
    assert scheme.select(pack, keys_of(pack, 1)).start.tolist() != together.start.tolist()


@pytest.mark.parametrize("spare", [0, 3, 100])
def test_a_capacity_leaves_the_second_its_share(spare):
    pack, _ = texts_of(["a b c a b c d e f d e f g h i j"] * 20)
    budget = 20 * 3  # ceil(0.15 x 16)
    spans = TwoMaskings().select(pack, keys_of(pack), capacity=20 * 3 + 20 * 3 + spare)
    assert hidden_of(pack, spans).sum() <= 2 * budget + spare
    assert (spans.group >= 0).any() and (np.bincount(spans.sequence[spans.group < 0]) > 0).all()


def test_too_small_a_capacity_is_told_whole():
    pack, _ = texts_of(["a b c a b c d e f d e f g h i j"] * 20)
    with pytest.raises(ConfigError, match=r"max_targets=4; .* Of max_targets=64, 60 are for the second masking\."):
        TwoMaskings().select(pack, keys_of(pack), capacity=64)


def test_a_text_that_repeats_nothing_has_hidden_words_alone():
    pack = with_ids(pack_of([[0, *[1] * 40, 0]]), np.arange(42) + 10)
    spans = TwoMaskings().select(pack, keys_of(pack))
    assert spans.group is None and (spans.end - spans.start).sum() >= 6


def test_it_gives_what_either_gives_and_is_a_part_like_any_other():
    both = TwoMaskings(first=RecurringGroups(ratio=0.1), then=TaggedPhrases())
    assert given_by(both) == {"spans", "groups", "lone_spans"} and both.ratio == 0.15
    assert both.side_arrays == TaggedPhrases().side_arrays and TwoMaskings().side_arrays == ()
    assert from_record(to_record(both), [TwoMaskings, RecurringGroups, TaggedPhrases]) == both
    assert given_by(TwoMaskings(then=NoMasking())) == {"spans", "groups"}


def test_what_is_no_masking_is_refused():
    with pytest.raises(ConfigError, match=r"masking\.then is 3, which is no masking: it has no ratio and no select;"):
        TwoMaskings(then=3)


@dataclass(frozen=True, kw_only=True)
class Mine:
    """A masking of a user's own that hides the tokens [first, last) of the pack, whatever stands there."""

    first: int
    last: int
    ratio: float = 0.15

    def select(self, pack, keys, *, capacity=None):
        start = np.array([self.first])
        return Spans(sequence=np.array([0]), start=start, end=start + self.last - self.first)


@pytest.mark.parametrize("last", [7, 99])
@pytest.mark.parametrize("place", ["first", "then"])
def test_what_a_masking_of_ones_own_selects_is_checked_in_either_place(place, last):
    pack = with_ids(pack_of([[0, 1, 1, 1, 1, 1, 0]]), np.arange(7) + 10)
    both = replace(TwoMaskings(first=NoMasking(), then=NoMasking()), **{place: Mine(first=2, last=last)})
    with pytest.raises(
        ConfigError, match=f"masking Mine returned spans whose number 0, tokens 2 to {last} of sequence"
    ):
        both.select(pack, keys_of(pack))


def test_the_second_may_not_hide_what_the_first_one_took():
    pack = with_ids(pack_of([[0, 1, 1, 1, 1, 1, 0]]), np.arange(7) + 10)
    both = TwoMaskings(first=Mine(first=2, last=4), then=Mine(first=3, last=5))
    with pytest.raises(ConfigError, match=r"tokens 3 to 5 of sequence 0, hides .* one that another masking took"):
        both.select(pack, keys_of(pack))


def test_another_error_of_the_first_one_says_nothing_of_targets():
    class Refusing(Mine):
        def select(self, pack, keys, *, capacity=None):
            raise ConfigError("there are no nouns.")

    pack = with_ids(pack_of([[0, 1, 1, 0]]), np.arange(4) + 10)
    for capacity in (None, 64):
        with pytest.raises(ConfigError, match=r"^there are no nouns\.$"):
            TwoMaskings(first=Refusing(first=0, last=1)).select(pack, keys_of(pack), capacity=capacity)


def test_a_pack_that_has_the_room_of_both_is_enough_for_both():
    pack, _ = texts_of(["a b c a b c d e f d e f g h i j"] * 20)
    both = TwoMaskings(first=GeometricSpans(ratio=0.4), then=SubwordTokens())
    for scheme in (both, TwoMaskings(first=both, then=SubwordTokens(ratio=0.1))):
        room = int(least_room(scheme, num_maskable(pack)).sum())
        assert room > 20 * np.ceil(0.15 * 16)
        assert hidden_of(pack, scheme.select(pack, keys_of(pack), capacity=room)).sum() <= room


@pytest.mark.parametrize("lone", [True, False])
def test_lone_spans_of_both_that_touch_are_one_and_those_of_groups_are_not(lone):
    @dataclass(frozen=True, kw_only=True)
    class Grouped(Mine):
        def select(self, pack, keys, *, capacity=None):
            spans = Mine.select(self, pack, keys)
            return replace(spans, group=np.array([-1 if lone else 0]), kept=np.array([[-1, -1]]))

    pack = with_ids(pack_of([[0, 1, 1, 1, 1, 1, 1, 0]]), np.arange(8) + 10)
    spans = TwoMaskings(first=Grouped(first=2, last=4), then=Mine(first=4, last=6)).select(pack, keys_of(pack))
    assert (spans.start.tolist(), spans.end.tolist()) == (([2], [6]) if lone else ([2, 4], [4, 6]))
    assert spans.group.tolist() == ([-1] if lone else [0, -1]) and len(spans.sequence) == len(spans.start)
    apart = TwoMaskings(first=Mine(first=1, last=2), then=Mine(first=3, last=5)).select(pack, keys_of(pack))
    assert (apart.start.tolist(), apart.end.tolist()) == ([1, 3], [2, 5])
