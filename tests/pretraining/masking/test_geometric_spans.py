"""SpanBERT's masking does what the paper and the released procedure say."""

from __future__ import annotations

import numpy as np
import pytest
from toy_packs import columns_of, hidden_of, num_cut_words, pack_of, packs_of

from spanwise.errors import ConfigError
from spanwise.pretraining.masking import GeometricSpans
from spanwise.pretraining.masking.alias import draw
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import derive_key, keys_for, mix

FINISHED = GeometricSpans()
RELEASED = GeometricSpans(start="tokens", end="budget")


@njit
def draw_many(columns, key, count):
    drawn = np.empty(count, dtype=np.int64)
    for i in range(count):
        drawn[i] = draw(columns, mix(key, i))
    return drawn


def keys_of(pack, epoch: int = 0, seed: int = 0) -> np.ndarray:
    return keys_for(seed, "masking", epoch, pack.block_ids)


@pytest.fixture(scope="module")
def blocks():
    return packs_of(2000, 510)


def plain_python(scheme: GeometricSpans, pack, keys) -> list[tuple[int, int, int]]:
    """The released procedure step by step, with Python's integers and lists."""

    def bits(key: int, counter: int) -> int:
        mask = (1 << 64) - 1
        z = (key + (counter + 1) * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    threshold, value, other = columns_of(scheme._rounds.lengths)
    merged = []
    for s in range(len(keys)):
        first, last = int(pack.borders[s]), int(pack.borders[s + 1])
        words, word_of = [], {}
        for t in range(first, last):
            if pack.maskable[t]:
                if pack.starts_word[t] or t == first or not pack.maskable[t - 1]:
                    words.append([])
                words[-1].append(t)
                word_of[t] = len(words) - 1
        anchors = list(word_of) if scheme.start == "tokens" else [word[0] for word in words]
        budget = -(-15 * len(word_of) // 100)
        hidden, counter = set(), 0
        while len(hidden) < budget:
            anchor = first + ((bits(int(keys[s]), counter + 1) * (last - first)) >> 64)
            drawn = bits(int(keys[s]), counter) * len(value)
            column = drawn >> 64
            under = drawn & ((1 << 64) - 1) < int(threshold[column])
            length = scheme.min_words + int((value if under else other)[column])
            counter += 2
            if anchor not in anchors or anchor in hidden:
                continue
            for number in range(word_of[anchor], min(word_of[anchor] + length, len(words))):
                if number > word_of[anchor] and words[number][0] != words[number - 1][-1] + 1:
                    break
                for t in words[number]:
                    if scheme.end == "words" or len(hidden) < budget:
                        hidden.add(t)
                if len(hidden) >= budget:
                    break
        for t in sorted(hidden):
            if merged and merged[-1][0] == s and merged[-1][2] == t:
                merged[-1] = (s, merged[-1][1], t + 1)
            else:
                merged.append((s, t, t + 1))
    return merged


@pytest.mark.parametrize("start", ["words", "tokens"])
@pytest.mark.parametrize("end", ["words", "budget"])
def test_the_compiled_loop_is_the_written_procedure_step_by_step(start, end):
    scheme = GeometricSpans(start=start, end=end)
    rng = np.random.default_rng(3)
    sequences = [[0, 1, *rng.choice([1, 1, 1, 2], 40).tolist(), 0, 1, 2, 1, *[1] * 20, 0] for _ in range(30)]
    pack = pack_of([*sequences, [1], [0, 2, 2, 0], [0, 1, 0], [0, 0]])
    keys = keys_of(pack)

    spans = scheme.select(pack, keys)

    found = list(zip(spans.sequence.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True))
    assert found == plain_python(scheme, pack, keys)


def test_a_million_drawn_lengths_follow_the_renormalised_law():
    """The whole histogram within 4 sigma a bin, not the mean alone. No law is drifted from by construction: a length is
    drawn before anything is known of the budget (see the procedure above)."""
    law = np.array([0.224058, 0.179246, 0.143397, 0.114718, 0.091774, 0.073419, 0.058735, 0.046988, 0.037591, 0.030073])
    numbers = np.arange(1, 11)
    table = FINISHED._rounds.lengths

    drawn = draw_many(table.columns, np.uint64(derive_key(1, "lengths")), 1_000_000)

    histogram = np.bincount(drawn, minlength=10) / 1e6
    assert (np.abs(histogram - law) < 4 * np.sqrt(law * (1 - law) / 1e6)).all()
    assert histogram @ numbers == pytest.approx(3.797, abs=0.01)
    assert FINISHED.length_probabilities @ numbers == pytest.approx(3.797098, abs=1e-6)
    assert FINISHED.length_probabilities @ (numbers - 3.797098) ** 2 == pytest.approx(6.524000, abs=1e-5)


@pytest.mark.parametrize("scheme", [FINISHED, RELEASED])
@pytest.mark.parametrize("n", [1, 2, 6, 20, 126, 510])
def test_the_budget_is_kept(scheme, n):
    """Ceil(0.15 n) exactly, or with whole words overshoot by less than the last word."""
    pack = packs_of(200, n)
    budget = -(-15 * n // 100)

    spans = scheme.select(pack, keys_of(pack))

    hidden = np.add.reduceat(hidden_of(pack, spans), pack.borders[:-1])
    if scheme.end == "budget":
        assert (hidden == budget).all()
    else:
        assert (hidden >= budget).all() and (hidden <= budget + 3).all()


@pytest.mark.parametrize("scheme", [FINISHED, RELEASED])
def test_spans_are_sorted_disjoint_merged_and_never_hold_a_special(scheme, blocks):
    spans = scheme.select(blocks, keys_of(blocks))

    assert (np.diff(spans.start) > 0).all()
    assert (spans.end > spans.start).all()
    hidden = hidden_of(blocks, spans)
    assert not hidden[~blocks.maskable].any()
    assert not hidden[spans.start - 1].any() and not hidden[spans.end].any()
    assert (spans.start > blocks.borders[spans.sequence]).all()
    assert (spans.end < blocks.borders[spans.sequence + 1]).all()


def test_whole_words_are_hidden_whole_unless_the_budget_is_strict(blocks):
    """Both ways; the released code cuts the last span inside a word in some 25 % of blocks."""
    word = np.cumsum(blocks.starts_word) * blocks.maskable
    cut_sequences = {}
    for scheme in (FINISHED, RELEASED):
        hidden = hidden_of(blocks, scheme.select(blocks, keys_of(blocks)))
        size, part = np.bincount(word), np.bincount(word, weights=hidden)
        partly = np.flatnonzero((part > 0) & (part < size) & (np.arange(len(size)) > 0))
        cut_sequences[scheme.end] = len(partly) / (len(blocks.borders) - 1)

    assert cut_sequences["words"] == 0
    assert 0.15 < cut_sequences["budget"] < 0.35


def test_numbers_of_spans_are_those_of_an_independent_simulation(blocks):
    """A simulation of 20,000 blocks, written anew, gives 14.79 merged spans of 5.21 tokens (95th percentile: 13)."""
    spans = RELEASED.select(blocks, keys_of(blocks))
    lengths, num_blocks = spans.end - spans.start, len(blocks.borders) - 1

    assert len(lengths) / num_blocks == pytest.approx(14.79, abs=0.2)
    assert lengths.mean() == pytest.approx(5.2, abs=0.1)
    assert np.percentile(lengths, 95) in (12, 13)
    assert (lengths > 15).mean() == pytest.approx(0.014, abs=0.003)
    assert lengths.max() > 20  # merged spans pass max_words and nothing breaks


@pytest.mark.parametrize(
    ("scheme", "rates"),
    [(FINISHED, (15.2, 15.2, 15.2, 15.2)), (RELEASED, (13.4, 16.3, 19.2, 21.5))],
)
def test_each_piece_is_hidden_at_the_rate_of_its_mode(scheme, rates, blocks):
    """Flat for word-uniform starts, growing with the word for token-uniform starts."""
    word = np.cumsum(blocks.starts_word) * blocks.maskable
    size = np.bincount(word)[word]
    place = np.arange(len(word)) - np.repeat(blocks.borders[:-1], np.diff(blocks.borders))
    interior = blocks.maskable & (place > 20) & (place < 480)
    hidden = np.zeros(len(word))
    for epoch in range(8):
        hidden += hidden_of(blocks, scheme.select(blocks, keys_of(blocks, epoch)))

    found = [100 * hidden[interior & (size == pieces)].mean() / 8 for pieces in (1, 2, 3, 4)]

    np.testing.assert_allclose(found, rates, rtol=0.02)


def test_the_left_edge_is_hidden_less_as_spans_grow_rightward(blocks):
    place = np.arange(len(blocks.maskable)) - np.repeat(blocks.borders[:-1], np.diff(blocks.borders))
    hidden = hidden_of(blocks, RELEASED.select(blocks, keys_of(blocks)))

    rates = [hidden[place == p].mean() for p in range(1, 12)]

    assert rates[0] == pytest.approx(0.05, abs=0.02)
    assert rates[10] == pytest.approx(0.15, abs=0.03)


def test_no_span_is_drawn_longer_than_max_words():
    """The cap is the option. Far apart spans can't merge, so lengths are those drawn."""
    pack = pack_of([[0, *[1] * 3000, 0]] * 50)

    spans = GeometricSpans(max_words=5, ratio=0.003).select(pack, keys_of(pack))

    lengths = spans.end - spans.start
    assert np.bincount(lengths, minlength=12)[6:].sum() <= 0.01 * len(lengths)
    assert lengths.max() <= 10


def test_punctuation_and_unknown_words_are_words_like_others():
    """What starts a word is a table of the vocabulary; every start is drawn alike."""
    pack = packs_of(400, 200)
    hidden = np.zeros(len(pack.maskable))
    for epoch in range(5):
        hidden += hidden_of(pack, FINISHED.select(pack, keys_of(pack, epoch)))
    place = np.arange(len(hidden)) - np.repeat(pack.borders[:-1], np.diff(pack.borders))
    starts = pack.starts_word & (place > 20)

    rates = [hidden[starts & (pack.input_ids % 2 == parity)].mean() / 5 for parity in (0, 1)]

    assert rates[0] == pytest.approx(rates[1], rel=0.03)


def test_masks_are_a_pure_function_of_seed_epoch_and_block():
    """Batch-mates, order and repetition change nothing; seed, epoch and block do."""
    together = packs_of(6, 100)
    alone = pack_of([[0, *np.where(together.starts_word[1:101], 1, 2).tolist(), 0]])

    spans = FINISHED.select(together, keys_of(together))
    again = FINISHED.select(alone, keys_of(alone))

    first = spans.sequence == 0
    np.testing.assert_array_equal(spans.start[first], again.start)
    np.testing.assert_array_equal(spans.end[first], again.end)
    other = FINISHED.select(alone, keys_of(alone, epoch=1))
    assert other.start.tolist() != again.start.tolist()


def test_input_arrays_are_byte_identical_after_the_call():
    pack = packs_of(8, 60)
    before = [pack.input_ids.tobytes(), pack.maskable.tobytes(), pack.starts_word.tobytes(), pack.borders.tobytes()]

    FINISHED.select(pack, keys_of(pack))

    after = [pack.input_ids.tobytes(), pack.maskable.tobytes(), pack.starts_word.tobytes(), pack.borders.tobytes()]
    assert before == after


@pytest.mark.parametrize("ratio", [0.0, 0.15, 1.0])
@pytest.mark.parametrize("start", ["words", "tokens"])
@pytest.mark.parametrize("end", ["words", "budget"])
def test_every_odd_sequence_ends_in_a_bounded_number_of_rounds(ratio, start, end):
    """1e5 sequences in all: pieces without a start, one word of 40 pieces, punctuation, specials, nothing."""
    rng = np.random.default_rng(0)
    odd = [[], [0], [0, 0], [2] * 5, [0, 2, 2, 2, 0], [0, 1, *[2] * 39, 0], [1], [0, 1, 0], [0, 1, 0, 2, 0, 1, 2, 0]]
    odd += [rng.integers(0, 3, rng.integers(0, 12)).tolist() for _ in range(8300)]
    pack = pack_of(odd)

    spans = GeometricSpans(ratio=ratio, start=start, end=end).select(pack, keys_of(pack))

    maskable = np.array([sum(kind > 0 for kind in sequence) for sequence in odd])
    hidden = np.bincount(spans.sequence, weights=spans.end - spans.start, minlength=len(odd))
    budget = np.ceil(ratio * maskable)
    assert (hidden >= budget).all() and (hidden <= maskable).all()
    assert ratio < 1 or (hidden == maskable).all()


def test_a_capacity_cuts_last_words_but_keeps_every_budget():
    pack = pack_of([[0, *[1, 2, 2, 2, 2] * 8, 0]] * 20)
    free = FINISHED.select(pack, keys_of(pack))
    capacity = 6 * 20 + 10

    spans = FINISHED.select(pack, keys_of(pack), capacity=capacity)

    hidden = np.bincount(spans.sequence, weights=spans.end - spans.start)
    assert (free.end - free.start).sum() > capacity == hidden.sum()
    assert (hidden >= 6).all() and num_cut_words(pack, spans) > 0 == num_cut_words(pack, free)
    with pytest.raises(ConfigError, match="raise max_targets"):
        FINISHED.select(pack, keys_of(pack), capacity=6 * 20 - 1)


def test_streams_of_masks_never_change_between_releases():
    pack = pack_of([[0, *[1, 1, 2, 1, 1, 2, 2, 1] * 5, 0]])

    finished = GeometricSpans(ratio=0.5).select(pack, keys_of(pack))
    released = GeometricSpans(ratio=0.5, start="tokens", end="budget").select(pack, keys_of(pack))

    assert list(zip(finished.start.tolist(), finished.end.tolist(), strict=True)) == [(8, 12), (16, 25), (33, 41)]
    assert list(zip(released.start.tolist(), released.end.tolist(), strict=True)) == [(13, 25), (33, 41)]


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"ratio": 1.5}, "ratio"),
        ({"min_words": 0}, "min_words"),
        ({"min_words": 4, "max_words": 3}, "min_words"),
        ({"p": 0.0}, "p cannot be 0.0; expected above 0"),
        ({"p": 0.3, "lengths": "uniform"}, "belongs to lengths='geometric'"),
        ({"mean_words": 3.0}, "belongs to lengths='poisson'"),
        ({"lengths": "poisson"}, "needs masking.mean_words"),
        ({"lengths": "explicit", "probabilities": (0.5, 0.5)}, "one probability a length"),
        ({"lengths": "explicit", "probabilities": (0.5, 0.6), "max_words": 2}, "add up to 1"),
        ({"p": -1.0}, "p cannot be -1.0; expected above 0"),
        ({"geometric_p": 0.2}, "geometric_p"),
        ({"start": "anywhere"}, "start"),
    ],
)
def test_values_that_cannot_work_are_refused_by_name(values, named):
    """Every option changes something or is rejected."""
    with pytest.raises(ConfigError, match=named):
        GeometricSpans(**values)
