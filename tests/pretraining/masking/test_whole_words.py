"""Whole-word masking hides all pieces of a word, every word alike."""

from __future__ import annotations

import numpy as np
import pytest
from toy_packs import hidden_of, pack_of, packs_of

from spanwise.pretraining.masking import WholeWords
from spanwise.runtime.seed import keys_for


def keys_of(pack, epoch: int = 0):
    return keys_for(0, "masking", epoch, pack.block_ids)


def test_words_are_hidden_whole_and_the_budget_is_passed_by_less_than_a_word():
    pack = packs_of(300, 126)
    hidden = hidden_of(pack, WholeWords().select(pack, keys_of(pack)))
    word = np.cumsum(pack.starts_word) * pack.maskable

    size, part = np.bincount(word), np.bincount(word, weights=hidden)

    assert (((part == 0) | (part == size))[1:]).all()
    total = np.add.reduceat(hidden, pack.borders[:-1])
    assert (total >= 19).all() and (total < 19 + 4).all()


def test_a_strict_budget_is_met_exactly():
    pack = packs_of(300, 126)

    hidden = hidden_of(pack, WholeWords(end="budget").select(pack, keys_of(pack)))

    assert (np.add.reduceat(hidden, pack.borders[:-1]) == 19).all()


def test_pieces_of_short_and_long_words_are_hidden_alike():
    """Some 15.2 % of the pieces of words of every size."""
    pack = packs_of(1500, 510)
    size = np.bincount(np.cumsum(pack.starts_word))[np.cumsum(pack.starts_word)]
    word = np.cumsum(pack.starts_word) * pack.maskable
    size = np.bincount(word)[word]
    hidden = sum(hidden_of(pack, WholeWords().select(pack, keys_of(pack, e))).astype(int) for e in range(4))

    rates = [100 * hidden[pack.maskable & (size == k)].mean() / 4 for k in (1, 2, 3, 4)]

    np.testing.assert_allclose(rates, 15.2, rtol=0.02)


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("end", ["words", "budget"])
def test_odd_sequences_and_ratios_end(ratio, end):
    lengths = (1, 9, 40, 2)
    pack = pack_of([[], [0], [0, 2, 0], [2] * 9, [0, 1, *[2] * 39, 0], [0, 1, 0, 1, 0]])

    hidden = hidden_of(pack, WholeWords(ratio=ratio, end=end).select(pack, keys_of(pack))).sum()

    assert sum(np.ceil(ratio * n) for n in lengths) <= hidden <= sum(lengths)


def test_a_capacity_cuts_last_words_and_counts_them():
    pack = pack_of([[0, *[1, 2, 2, 2, 2] * 8, 0]] * 20)

    spans = WholeWords().select(pack, keys_of(pack), capacity=6 * 20 + 10)

    assert (spans.end - spans.start).sum() == 130 and spans.num_cut > 0


def test_streams_never_change_between_releases():
    pack = pack_of([[0, *[1, 1, 2, 1, 1, 2, 2, 1] * 5, 0]])

    spans = WholeWords().select(pack, keys_of(pack))

    assert list(zip(spans.start.tolist(), spans.end.tolist(), strict=True)) == [(16, 17), (21, 24), (37, 40)]
