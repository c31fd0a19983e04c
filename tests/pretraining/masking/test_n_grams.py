"""ALBERT's n-gram masking: the law of lengths, no overlaps, whole words, the whole budget."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from toy_packs import columns_of, hidden_of, num_cut_words, pack_of, packs_of

from spanwise.errors import ConfigError
from spanwise.pretraining.masking import NGrams
from spanwise.runtime.seed import keys_for

BITS = (1 << 64) - 1


def keys_of(pack, epoch: int = 0, seed: int = 0) -> np.ndarray:
    return keys_for(seed, "masking", epoch, pack.block_ids)


@pytest.fixture(scope="module")
def blocks():
    return packs_of(1000, 510)


def bits(key: int, counter: int) -> int:
    z = (key + (counter + 1) * 0x9E3779B97F4A7C15) & BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS
    return z ^ (z >> 31)


def plain_python(scheme: NGrams, pack, keys) -> tuple[list[list[tuple[int, int]]], list[set[int]]]:
    """The procedure with lists: the n-grams of each sequence as drawn, and what is hidden in it."""
    (threshold, value, other), drawn, hidden_tokens = columns_of(scheme._table), [], []
    for s in range(len(keys)):
        words: list[list[int]] = []
        for t in range(int(pack.borders[s]), int(pack.borders[s + 1])):
            if pack.maskable[t]:
                if pack.starts_word[t] or t == pack.borders[s] or not pack.maskable[t - 1]:
                    words.append([])
                words[-1].append(t)
        budget = -(-15 * sum(map(len, words)) // 100)
        unseen, left_out, hidden, pieces = list(range(len(words))), [], set(), []

        def put(tokens, budget=budget, hidden=hidden, pieces=pieces):
            pieces.append((tokens[0], tokens[-1] + 1))
            for t in tokens:
                if scheme.end == "words" or len(hidden) < budget:
                    hidden.add(t)

        counter = 0
        while len(hidden) < budget and unseen:
            place = (bits(int(keys[s]), counter + 1) * len(unseen)) >> 64
            word, unseen[place] = unseen[place], unseen[0]
            unseen = unseen[1:]
            scaled = bits(int(keys[s]), counter) * len(value)
            under = scaled & BITS < int(threshold[scaled >> 64])
            length = 1 + int((value if under else other)[scaled >> 64])
            counter += 2
            gram = [words[word]]
            for following in words[word + 1 : word + length]:
                if following[0] != gram[-1][-1] + 1:
                    break
                gram.append(following)
            while len(gram) > 1 and len(hidden) + sum(map(len, gram)) > budget:
                gram.pop()
            tokens = [t for one in gram for t in one]
            if hidden & set(tokens):
                left_out.append(word)
            else:
                put(tokens)
        for word in left_out:
            if len(hidden) < budget and not hidden & set(words[word]):
                put(words[word])
        drawn.append(pieces)
        hidden_tokens.append(hidden)
    return drawn, hidden_tokens


@pytest.mark.parametrize("end", ["words", "budget"])
def test_the_compiled_loop_is_the_written_procedure_step_by_step(end):
    scheme = NGrams(end=end)
    rng = np.random.default_rng(3)
    sequences = [[0, 1, *rng.choice([1, 1, 1, 2], 40).tolist(), 0, 1, 2, 1, *[1] * 20, 0] for _ in range(30)]
    pack = pack_of([*sequences, [1], [0, 2, 2, 0], [0, 1, 0], [0, 0]])
    keys = keys_of(pack)

    spans = scheme.select(pack, keys)

    _, hidden = plain_python(scheme, pack, keys)
    assert np.flatnonzero(hidden_of(pack, spans)).tolist() == sorted(t for tokens in hidden for t in tokens)


def test_overlapping_n_grams_are_left_out():
    """The released check ends only the inner loop, so its n-grams overlap. At ratio 1 every pair would meet."""
    pack = packs_of(40, 60)
    drawn, _ = plain_python(NGrams(), pack, keys_of(pack))

    for pieces in drawn:
        ordered = sorted(pieces)
        assert all(end <= start for (_, end), (start, _) in pairwise(ordered))
    spans = NGrams(ratio=1.0).select(pack, keys_of(pack))
    assert (spans.end - spans.start).sum() == pack.maskable.sum()


def test_lengths_follow_six_three_and_two_elevenths():
    """The whole histogram, in words. Far apart n-grams can't merge nor overlap, so what is seen is what was drawn."""
    np.testing.assert_allclose(NGrams().length_probabilities, [6 / 11, 3 / 11, 2 / 11])
    np.testing.assert_allclose(NGrams(max_words=5).length_probabilities @ np.arange(1, 6), 5 / 2.283333, rtol=1e-6)
    pack = pack_of([[0, *[1] * 20_000, 0]] * 60)

    spans = NGrams(ratio=0.005).select(pack, keys_of(pack))

    lengths = np.bincount(spans.end - spans.start, minlength=8)
    assert lengths[4:].sum() < 0.02 * lengths.sum()
    np.testing.assert_allclose(lengths[1:4] / lengths.sum(), [6 / 11, 3 / 11, 2 / 11], atol=0.02)


@pytest.mark.parametrize("end", ["words", "budget"])
@pytest.mark.parametrize("n", [1, 2, 6, 20, 126, 510])
def test_fifteen_percent_are_hidden_at_every_length(end, n):
    """20 predictions of 512 tokens, as in the released command, would be 3.9 %."""
    pack = packs_of(200, n)
    budget = -(-15 * n // 100)

    spans = NGrams(end=end).select(pack, keys_of(pack))

    hidden = np.add.reduceat(hidden_of(pack, spans), pack.borders[:-1])
    assert (hidden >= budget).all() and (hidden <= budget + (3 if end == "words" else 0)).all()


def test_spans_are_whole_words_and_hold_no_special(blocks):
    hidden = hidden_of(blocks, NGrams().select(blocks, keys_of(blocks)))
    word = np.cumsum(blocks.starts_word) * blocks.maskable

    size, part = np.bincount(word), np.bincount(word, weights=hidden)

    assert (((part == 0) | (part == size))[1:]).all()
    assert not hidden[~blocks.maskable].any()


def test_pieces_of_long_and_short_words_are_hidden_alike(blocks):
    """Words are drawn alike, however many pieces they have. The last n-gram's shortening costs a little."""
    word = np.cumsum(blocks.starts_word) * blocks.maskable
    size = np.bincount(word)[word]
    place = np.arange(len(word)) - np.repeat(blocks.borders[:-1], np.diff(blocks.borders))
    interior = blocks.maskable & (place > 12) & (place < 500)
    hidden = sum(hidden_of(blocks, NGrams().select(blocks, keys_of(blocks, e))).astype(int) for e in range(6))

    rates = [100 * hidden[interior & (size == pieces)].mean() / 6 for pieces in (1, 2, 3, 4)]

    np.testing.assert_allclose(rates, 15.15, rtol=0.03)


@pytest.mark.parametrize("ratio", [0.0, 0.15, 0.6, 1.0])
@pytest.mark.parametrize("end", ["words", "budget"])
def test_every_odd_sequence_ends_with_its_budget_kept(ratio, end):
    """Pieces without a start, one word of 40 pieces, only specials, nothing."""
    rng = np.random.default_rng(0)
    odd = [[], [0], [0, 0], [2] * 5, [0, 2, 2, 2, 0], [0, 1, *[2] * 39, 0], [1], [0, 1, 0], [0, 1, 0, 2, 0, 1, 2, 0]]
    odd += [rng.integers(0, 3, rng.integers(0, 12)).tolist() for _ in range(12_500)]
    pack = pack_of(odd)

    spans = NGrams(ratio=ratio, end=end).select(pack, keys_of(pack))

    maskable = np.array([sum(kind > 0 for kind in sequence) for sequence in odd])
    hidden = np.bincount(spans.sequence, weights=spans.end - spans.start, minlength=len(odd))
    budget = np.ceil(ratio * maskable)
    assert (hidden >= budget).all() and (hidden <= maskable).all()
    assert end == "words" or (hidden == budget).all()


def test_a_capacity_cuts_last_words_but_keeps_every_budget():
    pack = pack_of([[0, *[1, 2, 2, 2, 2] * 8, 0]] * 20)
    free = NGrams().select(pack, keys_of(pack))
    capacity = 6 * 20 + 10

    spans = NGrams().select(pack, keys_of(pack), capacity=capacity)

    hidden = np.bincount(spans.sequence, weights=spans.end - spans.start)
    assert (free.end - free.start).sum() > capacity == hidden.sum()
    assert (hidden >= 6).all() and num_cut_words(pack, spans) > 0 == num_cut_words(pack, free)
    with pytest.raises(ConfigError, match="raise max_targets"):
        NGrams().select(pack, keys_of(pack), capacity=6 * 20 - 1)


def test_masks_are_a_pure_function_of_seed_epoch_and_block():
    """Batch-mates change nothing; the epoch does."""
    together = packs_of(6, 100)
    alone = pack_of([[0, *np.where(together.starts_word[1:101], 1, 2).tolist(), 0]])
    before = [together.input_ids.tobytes(), together.maskable.tobytes(), together.starts_word.tobytes()]

    spans = NGrams().select(together, keys_of(together))
    again = NGrams().select(alone, keys_of(alone))

    first = spans.sequence == 0
    np.testing.assert_array_equal(spans.start[first], again.start)
    np.testing.assert_array_equal(spans.end[first], again.end)
    assert NGrams().select(alone, keys_of(alone, epoch=1)).start.tolist() != again.start.tolist()
    assert before == [together.input_ids.tobytes(), together.maskable.tobytes(), together.starts_word.tobytes()]


def test_streams_of_masks_never_change_between_releases():
    pack = pack_of([[0, *[1, 1, 2, 1, 1, 2, 2, 1] * 5, 0]])

    spans = NGrams(ratio=0.4).select(pack, keys_of(pack))

    assert list(zip(spans.start.tolist(), spans.end.tolist(), strict=True)) == [
        (1, 4),
        (16, 21),
        (26, 32),
        (33, 34),
        (36, 37),
    ]


@pytest.mark.parametrize(
    ("values", "named"),
    [({"ratio": 1.5}, "ratio"), ({"max_words": 0}, "max_words"), ({"p": 0.2}, "p"), ({"end": "skip"}, "end")],
)
def test_values_that_cannot_work_are_refused_by_name(values, named):
    with pytest.raises(ConfigError, match=named):
        NGrams(**values)
