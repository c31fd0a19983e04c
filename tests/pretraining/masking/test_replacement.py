"""Replacement is 80/10/10 per merged span or per token, from the corpus' own tokens, never a special."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from toy_packs import hidden_of, packs_of

from spanwise.errors import ConfigError
from spanwise.pretraining.masking import GeometricSpans, Replacement
from spanwise.pretraining.masking.replacement import ALL_MASKED
from spanwise.pretraining.packs import Spans
from spanwise.runtime.seed import keys_for

MASK = 4


@pytest.fixture(scope="module")
def masked():
    pack = packs_of(8000, 510)
    return pack, GeometricSpans().select(pack, keys_for(0, "masking", 0, pack.block_ids))


def apply(replacement, masked, vocabulary):
    pack, spans = masked
    return replacement.apply(pack, spans, keys_for(0, "replacement", 0, pack.block_ids), vocabulary)


def test_one_kind_a_merged_span_in_shares_of_80_10_10(masked, vocabulary):
    """Over 1e5 spans."""
    pack, spans = masked
    ids = apply(Replacement(), masked, vocabulary)
    long = spans.end - spans.start >= 4

    is_mask = ids == MASK
    first, last, length = spans.start[long], spans.end[long], (spans.end - spans.start)[long]
    total = np.concatenate([[0], np.cumsum(is_mask)])
    num_masks = total[last] - total[first]
    same = np.concatenate([[0], np.cumsum(ids == pack.input_ids)])
    num_same = same[last] - same[first]

    assert len(spans.start) > 1e5
    assert np.isin(num_masks, [0]).sum() + (num_masks == length).sum() == len(length)  # never mixed
    assert is_mask[spans.start].mean() == pytest.approx(0.8, abs=0.01)
    assert (num_same == length).mean() == pytest.approx(0.1, abs=0.01)
    assert ((num_masks == 0) & (num_same < length)).mean() == pytest.approx(0.1, abs=0.01)


def test_per_token_the_kinds_are_drawn_for_each_token(masked, vocabulary):
    pack, spans = masked
    ids = apply(Replacement(unit="token"), masked, vocabulary)
    hidden = hidden_of(pack, spans)
    pairs = hidden[:-1] & hidden[1:]
    is_mask = ids == MASK

    assert is_mask[hidden].mean() == pytest.approx(0.8, abs=0.005)
    assert (is_mask[:-1] & is_mask[1:])[pairs].mean() == pytest.approx(0.64, abs=0.01)


def test_mask_only_leaves_no_trace_of_a_hidden_token(masked, vocabulary):
    """The option for those who train without random and kept tokens; every hidden token is [MASK]."""
    pack, spans = masked
    hidden = hidden_of(pack, spans)

    for replacement in (Replacement(mask=1.0, random=0.0, keep=0.0), ALL_MASKED):
        ids = apply(replacement, masked, vocabulary)
        assert (ids[hidden] == MASK).all() and (ids[~hidden] == pack.input_ids[~hidden]).all()


def test_electras_replacement_keeps_15_percent_and_makes_nothing_up(masked, vocabulary):
    """Section 6.4: 85 % [MASK], 15 % stay, per token; the generator samples for all of them."""
    pack, spans = masked
    hidden = hidden_of(pack, spans)

    ids = apply(Replacement(mask=0.85, random=0.0, keep=0.15, unit="token"), masked, vocabulary)

    assert (ids[hidden] == MASK).mean() == pytest.approx(0.85, abs=0.003)
    assert ((ids == MASK) | (ids == pack.input_ids)).all()


@pytest.mark.parametrize("law", ["unigram", "uniform"])
def test_random_tokens_follow_their_law_and_are_never_special(law, masked, vocabulary):
    pack, spans = masked
    ids = apply(Replacement(mask=0.0, random=1.0, keep=0.0, random_law=law), masked, vocabulary)
    drawn = np.bincount(ids[hidden_of(pack, spans)], minlength=200)
    weights = vocabulary.unigram_counts.astype(float) if law == "unigram" else np.ones(200)
    weights[:5] = 0

    expected = weights / weights.sum()

    assert drawn[:5].sum() == 0
    assert (np.abs(drawn / drawn.sum() - expected) <= 4.5 * np.sqrt(expected / drawn.sum())).all()


def test_visible_tokens_and_the_pack_itself_stay_as_they_are(masked, vocabulary):
    pack, spans = masked
    before = pack.input_ids.tobytes()

    ids = apply(Replacement(), masked, vocabulary)

    assert pack.input_ids.tobytes() == before and not np.shares_memory(ids, pack.input_ids)
    visible = ~hidden_of(pack, spans)
    np.testing.assert_array_equal(ids[visible], pack.input_ids[visible])


def test_a_sequence_is_replaced_alike_whatever_its_batch_mates(vocabulary):
    pack = packs_of(4, 60)
    keys = keys_for(0, "replacement", 0, pack.block_ids)
    spans = GeometricSpans().select(pack, keys)
    last = spans.sequence == 3
    alone = dataclasses.replace(
        pack, input_ids=pack.input_ids[186:], borders=np.array([0, 62]), block_ids=pack.block_ids[3:]
    )
    moved = dataclasses.replace(
        spans,
        sequence=np.zeros(last.sum(), dtype=np.int64),
        start=spans.start[last] - 186,
        end=spans.end[last] - 186,
    )

    together = Replacement().apply(pack, spans, keys, vocabulary)

    np.testing.assert_array_equal(together[186:], Replacement().apply(alone, moved, keys[3:], vocabulary))


def test_chances_that_do_not_add_up_are_refused():
    with pytest.raises(ConfigError, match="add up to 1"):
        Replacement(mask=0.8, random=0.1, keep=0.2)
    with pytest.raises(ConfigError, match=r"random cannot be -0\.2; expected at least 0"):
        Replacement(mask=1.2, random=-0.2, keep=0.0)


def test_a_unigram_without_counts_is_an_error_that_names_the_cure(vocabulary):
    uncounted = dataclasses.replace(vocabulary, unigram_counts=np.zeros(200, dtype=np.int64))

    with pytest.raises(ConfigError, match="random_law='uniform'"):
        Replacement().random_ids(uncounted)
    assert len(Replacement(random_law="uniform").random_ids(uncounted).columns) == 195


def test_spans_of_groups_that_touch_are_replaced_alike(vocabulary):
    """They are one gap, whose replacement is drawn once."""
    pack = packs_of(400, 12)
    first = pack.borders[:-1]
    keys = keys_for(0, "replacement", 0, pack.block_ids)
    whole = Spans(sequence=np.arange(400), start=first + 2, end=first + 7)
    parts = Spans(
        sequence=np.repeat(np.arange(400), 2),
        start=np.stack([first + 2, first + 4], 1).ravel(),
        end=np.stack([first + 4, first + 7], 1).ravel(),
        group=np.tile([0, -1], 400),
    )
    replacement = Replacement(mask=0.5, random=0.2, keep=0.3)
    expected, found = (replacement.apply(pack, spans, keys, vocabulary) for spans in (whole, parts))
    np.testing.assert_array_equal(found, expected)
