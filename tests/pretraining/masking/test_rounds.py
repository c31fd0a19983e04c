"""The shared loop ends in a bounded number of rounds and draws every visible anchor alike, however few are left."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from toy_packs import hidden_of, num_cut_words, pack_of, packs_of

from spanwise.errors import ConfigError
from spanwise.pretraining.masking import SubwordTokens, WholeWords
from spanwise.pretraining.masking.alias import AliasTable
from spanwise.pretraining.masking.rounds import MAX_VOID, ONE_WORD, Rounds
from spanwise.runtime.seed import below, derive_key, keys_for


def needle(num_tokens: int, places: list[int]):
    """A sequence in which words start at `places` alone; the first token, which always starts one, is special."""
    kinds = [2] * num_tokens
    for place in places:
        kinds[place] = 1
    for place in places:  # a special before each word and after it: nothing else can be hidden
        kinds[place - 1] = kinds[place + 1] = 0
    return pack_of([[0 if kind == 2 else kind for kind in kinds]])


def test_rare_anchors_are_found_and_drawn_alike():
    places = [100, 600, 900]
    pack = needle(1000, places)
    hidden = []
    for epoch in range(900):
        keys = np.array([derive_key(0, "masking", epoch)], dtype=np.uint64)
        spans = Rounds(ratio=0.3).select(pack, keys, None)  # ceil(0.3 * 3) = 1
        hidden.append(int(spans.start[0]))

    counts = np.bincount(hidden, minlength=1000)[places]

    assert counts.sum() == 900
    assert abs(counts - 300).max() < 4.5 * np.sqrt(900 * (1 / 3) * (2 / 3))


@pytest.mark.parametrize("draws", [1, 2])
def test_after_too_many_void_rounds_the_next_one_draws_among_the_anchors_alone(draws):
    from spanwise.pretraining.masking.alias import AliasTable

    pack = needle(2000, [1500])
    lengths = AliasTable.from_weights(np.ones(3)) if draws == 2 else None
    key = next(
        key
        for key in (derive_key(0, "masking", epoch) for epoch in range(100))
        if all(below(np.uint64(key), draws * (r + 1) - 1, 2000) != 1500 for r in range(MAX_VOID))
    )

    spans = Rounds(ratio=1.0, lengths=lengths).select(pack, np.array([key], dtype=np.uint64), None)

    assert (spans.start.tolist(), spans.end.tolist()) == ([1500], [1501])


def test_a_pack_without_a_sequence_has_no_span():
    spans = Rounds(ratio=0.15).select(pack_of([]), np.empty(0, dtype=np.uint64), None)

    assert len(spans.start) == 0


def keys_of(pack, epoch: int = 0):
    return keys_for(0, "masking", epoch, pack.block_ids)


@pytest.mark.parametrize("n", [1, 2, 20, 510])
def test_exactly_the_budget_is_hidden(n):
    pack = packs_of(50, n)

    hidden = hidden_of(pack, SubwordTokens().select(pack, keys_of(pack)))

    assert (np.add.reduceat(hidden, pack.borders[:-1]) == -(-15 * n // 100)).all()
    assert not hidden[~pack.maskable].any()


def test_every_token_is_hidden_alike():
    pack = packs_of(1, 40)
    counts = sum(hidden_of(pack, SubwordTokens().select(pack, keys_of(pack, e))).astype(int) for e in range(3000))

    assert np.abs(counts[pack.maskable] - 450).max() < 4.5 * np.sqrt(3000 * 0.15 * 0.85)


@pytest.mark.parametrize("ratio", [0.0, 0.5, 0.95, 1.0])
def test_odd_sequences_and_ratios_end(ratio):
    pack = pack_of([[], [0], [0, 2, 0], [2] * 9, [0, 1, *[2] * 39, 0], [0, 1, 0, 1, 0]])

    hidden = hidden_of(pack, SubwordTokens(ratio=ratio).select(pack, keys_of(pack)))

    assert hidden.sum() == sum(np.ceil(ratio * n) for n in (1, 9, 40, 2))


def test_a_capacity_of_the_budgets_is_enough_and_less_is_refused():
    pack = packs_of(3, 20)

    with pytest.raises(ConfigError, match="max_targets"):
        SubwordTokens().select(pack, keys_of(pack), capacity=8)


def test_streams_never_change_between_releases():
    pack = pack_of([[0, *[1, 1, 2, 1, 1, 2, 2, 1] * 5, 0]])

    spans = SubwordTokens().select(pack, keys_of(pack))

    assert list(zip(spans.start.tolist(), spans.end.tolist(), strict=True)) == [(6, 7), (15, 17), (21, 23), (37, 38)]


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
def test_whole_words_of_odd_sequences_and_ratios_end(ratio, end):
    lengths = (1, 9, 40, 2)
    pack = pack_of([[], [0], [0, 2, 0], [2] * 9, [0, 1, *[2] * 39, 0], [0, 1, 0, 1, 0]])

    hidden = hidden_of(pack, WholeWords(ratio=ratio, end=end).select(pack, keys_of(pack))).sum()

    assert sum(np.ceil(ratio * n) for n in lengths) <= hidden <= sum(lengths)


def test_a_capacity_cuts_last_words():
    pack = pack_of([[0, *[1, 2, 2, 2, 2] * 8, 0]] * 20)

    spans = WholeWords().select(pack, keys_of(pack), capacity=6 * 20 + 10)

    assert (spans.end - spans.start).sum() == 130 and num_cut_words(pack, spans) > 0


def test_streams_of_whole_words_never_change_between_releases():
    pack = pack_of([[0, *[1, 1, 2, 1, 1, 2, 2, 1] * 5, 0]])

    spans = WholeWords().select(pack, keys_of(pack))

    assert list(zip(spans.start.tolist(), spans.end.tolist(), strict=True)) == [(16, 17), (21, 24), (37, 40)]


def test_the_law_of_one_word_is_written_out_as_a_law_is_built():
    assert (ONE_WORD.columns == AliasTable.from_weights(np.ones(1)).columns).all()


def test_an_import_runs_nothing_compiled():
    # numba reads all that it knows of numpy before its first function runs, at the start of every command
    code = "import sys, spanwise.pretraining.masking; sys.exit('numba.np.arraymath' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
