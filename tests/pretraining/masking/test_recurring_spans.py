"""Recurring spans are found as they are, one occurrence of each stays, and every text ends with its budget kept."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_packs import hidden_of, pack_of, texts_of, with_ids

from spanwise.errors import ConfigError
from spanwise.pretraining.masking import RecurringSpans
from spanwise.pretraining.masking.merge import merged
from spanwise.runtime.seed import keys_for


def keys_of(pack, epoch: int = 0, seed: int = 0) -> np.ndarray:
    return keys_for(seed, "masking", epoch, pack.block_ids)


TEXT = "the mint of Denver made coins and the coins of Denver went to New York where the mint of New York was not"


def test_one_occurrence_of_every_recurring_span_stays_visible():
    pack, numbers = texts_of([TEXT] * 400)
    words = TEXT.split()
    for ratio in (0.15, 0.4):
        hidden = hidden_of(pack, RecurringSpans(ratio=ratio).select(pack, keys_of(pack))).reshape(400, -1)[:, 1:-1]
        for recurs in ("Denver", "coins", "New York", "mint"):
            places = [i for i in range(len(words)) if " ".join(words[i:]).startswith(recurs + " ")]
            assert len(places) > 1
            assert (~hidden[:, places]).any(axis=1).all(), recurs
    assert len(numbers) > 10


def test_recurring_spans_come_before_others():
    """Of 22 words at 15 % all four hidden ones lie in spans that recur, until these are used up."""
    pack, _ = texts_of([TEXT] * 300)
    words = TEXT.split()
    recurs = np.array([words.count(word) > 1 for word in words])
    hidden = hidden_of(pack, RecurringSpans().select(pack, keys_of(pack))).reshape(300, -1)[:, 1:-1]
    assert (hidden.sum(axis=1) >= 4).all()
    assert not hidden[:, ~recurs].any()


def test_every_occurrence_is_the_kept_one_alike():
    pack, _ = texts_of(
        ["Denver is here and Denver is there or Denver is none of it all in the end of a b c d e f g"] * 3000
    )
    hidden = hidden_of(pack, RecurringSpans(ratio=0.18).select(pack, keys_of(pack))).reshape(3000, -1)[:, 1:-1]
    kept = ~hidden[:, [0, 4, 8]]
    assert (kept.sum(axis=1) == 1).all()
    np.testing.assert_allclose(kept.mean(axis=0), 1 / 3, atol=0.03)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 5), max_size=40), min_size=1, max_size=6),
    st.sampled_from([0.1, 0.3, 0.9]),
    st.sampled_from(["words", "budget"]),
    st.sampled_from([None, 0, 4]),
)
def test_a_group_is_all_occurrences_of_some_words_but_the_kept_one(texts, ratio, end, spare):
    """Ids stand for words of one token; 0 is a special."""
    pack = with_ids(
        pack_of([[0, *(min(1, word) for word in text), 0] for text in texts]),
        [10 + word for text in texts for word in (0, *text, 0)],
    )
    budget = sum(-(-int(pack.maskable[a:b].sum()) * int(ratio * 10) // 10) for a, b in pairwise(pack.borders))
    spans = RecurringSpans(ratio=ratio, end=end).select(
        pack, keys_of(pack), capacity=None if spare is None else budget + spare
    )

    hidden_T = hidden_of(pack, spans)
    assert spare is None or hidden_T.sum() <= budget + spare
    if spans.group is None:
        return
    for group in np.unique(spans.group[spans.group >= 0]):
        first, last = spans.kept[group]
        assert not hidden_T[first:last].any()
        members = np.flatnonzero(spans.group == group)
        assert len(set(spans.sequence[members])) == 1
        for m in members:
            words = pack.input_ids[spans.start[m] : spans.end[m]].tolist()
            assert words == pack.input_ids[first:last].tolist()
            assert pack.borders[spans.sequence[m]] <= first < pack.borders[spans.sequence[m] + 1]


def test_which_words_are_frequent_is_told_by_the_corpus(vocabulary):
    """No list of words: a token above the share is frequent; every run binds the scheme to its store's counts."""
    pack = with_ids(pack_of([[0, *[1] * 12, 0]]), [2, 5, 6, 50, 5, 6, 51, 5, 6, 52, 60, 61, 62, 2])
    counts = vocabulary.unigram_counts / vocabulary.unigram_counts.sum()
    scheme = RecurringSpans(frequent_share=float(counts[6]) * 0.9, ratio=0.3)

    def hides_the_pair(masking):
        spans = [masking.select(pack, keys_of(pack, epoch)) for epoch in range(30)]
        return np.mean([hidden_of(pack, one)[[1, 2, 4, 5, 7, 8]].sum() for one in spans])

    assert hides_the_pair(scheme) == 4  # unbound: the pair recurs three times, two are hidden
    assert hides_the_pair(scheme.for_vocabulary(vocabulary)) < 3.5  # bound: five of ten words as any other
    assert scheme.for_vocabulary(vocabulary).ratio == 0.3


def test_a_text_that_repeats_nothing_gets_geometric_spans():
    pack = with_ids(pack_of([[0, *[1] * 400, 0]] * 100), np.arange(402 * 100) % 402 + 10)
    spans = RecurringSpans(ratio=0.02).select(pack, keys_of(pack))
    lengths = spans.end - spans.start
    assert (np.bincount(spans.sequence, weights=lengths) == 8).all()
    assert lengths.mean() == pytest.approx(3.1, abs=0.3)  # 3.8 words, less what the small budget cuts off
    assert lengths.max() <= 10


@pytest.mark.parametrize("ratio", [0.0, 0.15, 1.0])
@pytest.mark.parametrize("end", ["words", "budget"])
def test_every_odd_sequence_ends_with_its_budget_kept(ratio, end):
    """Few different ids, so that nearly everything recurs."""
    rng = np.random.default_rng(0)
    odd = [[], [0], [0, 0], [2] * 5, [0, 2, 2, 2, 0], [0, 1, *[2] * 39, 0], [1], [0, 1, 0], [0, 1, 0, 2, 0, 1, 2, 0]]
    odd += [rng.integers(0, 3, rng.integers(0, 30)).tolist() for _ in range(4000)]
    pack = pack_of(odd)
    pack = with_ids(pack, rng.integers(10, 14, len(pack.input_ids)))

    spans = RecurringSpans(ratio=ratio, end=end).select(pack, keys_of(pack))

    maskable = np.array([sum(kind > 0 for kind in sequence) for sequence in odd])
    hidden = np.bincount(spans.sequence, weights=spans.end - spans.start, minlength=len(odd))
    budget = np.ceil(ratio * maskable)
    assert (hidden >= budget).all() and (hidden <= maskable).all()
    assert end == "words" or (hidden == budget).all()
    assert not hidden_of(pack, spans)[~pack.maskable].any()


def test_a_capacity_cuts_last_spans_but_keeps_every_budget():
    pack = pack_of([[0, *[1] * 40, 0]] * 20)
    pack = with_ids(pack, np.tile(np.append(np.tile(np.arange(10, 17), 6), [2])[:42], 20))
    free = RecurringSpans().select(pack, keys_of(pack))

    spans = RecurringSpans().select(pack, keys_of(pack), capacity=130)

    hidden = np.bincount(spans.sequence, weights=spans.end - spans.start)
    assert (free.end - free.start).sum() > 130 == hidden.sum()
    assert (hidden >= 6).all()


def test_masks_are_a_pure_function_of_seed_epoch_block_and_text():
    together, _ = texts_of([TEXT, TEXT.upper(), TEXT])
    alone, _ = texts_of([TEXT])
    before = together.input_ids.tobytes()

    spans = RecurringSpans().select(together, keys_of(together))
    again = RecurringSpans().select(alone, keys_of(alone))

    first = spans.sequence == 0
    np.testing.assert_array_equal(spans.start[first], again.start)
    np.testing.assert_array_equal(spans.end[first], again.end)
    assert RecurringSpans().select(alone, keys_of(alone, 1)).start.tolist() != again.start.tolist()
    assert together.input_ids.tobytes() == before


def test_streams_of_masks_never_change_between_releases():
    pack, _ = texts_of([TEXT])
    spans = RecurringSpans(ratio=0.5).select(pack, keys_of(pack))
    whole = merged(spans)
    assert list(zip(whole.start.tolist(), whole.end.tolist(), strict=True)) == [(1, 4), (8, 13), (20, 24)]


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"ratio": -0.1}, "ratio"),
        ({"max_words": 0}, "max_words"),
        ({"p": 0.0}, "p cannot be 0.0; expected above 0"),
        ({"frequent_share": 2}, "frequ"),
    ],
)
def test_values_that_cannot_work_are_refused_by_name(values, named):
    with pytest.raises(ConfigError, match=named):
        RecurringSpans(**values)
