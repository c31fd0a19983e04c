"""Sets of tokens as bits give what plain loops over the tokens give, also where 64 tokens end and another 64 begin."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.pretraining.masking import bits

# lengths of sequences whose tokens are: 0 special, 1 start of a word, 2 continuation
SEQUENCES = st.lists(st.lists(st.sampled_from([0, 1, 1, 1, 2, 2]), max_size=150), min_size=1, max_size=4)


def tokens_in(words: np.ndarray, num_tokens: int) -> list[int]:
    return [t for t in range(num_tokens) if int(words[t // 64]) >> (t % 64) & 1]


def sets_of(sequences: list[list[int]]):
    borders = np.cumsum([0] + [len(sequence) for sequence in sequences])
    kinds = np.array([kind for sequence in sequences for kind in sequence], dtype=np.int64)
    first = bits.border_bits(borders)
    maskable = bits.bits_of(kinds > 0)
    words = bits.word_bits(maskable, bits.bits_of(kinds == 1), first)
    return borders, kinds, first, maskable, words


def starts_of(borders: np.ndarray, kinds: np.ndarray) -> list[int]:
    opens = set(borders.tolist())
    return [t for t, kind in enumerate(kinds) if kind and (kind == 1 or t in opens or kinds[t - 1] == 0)]


@settings(max_examples=100, deadline=None)
@given(SEQUENCES)
def test_word_starts_are_starting_pieces_and_what_follows_a_special_or_a_border(sequences):
    borders, kinds, first, maskable, words = sets_of(sequences)

    assert tokens_in(maskable, len(kinds)) == np.flatnonzero(kinds).tolist()
    assert tokens_in(first, len(kinds)) == sorted({t for t in borders.tolist() if t < len(kinds)})
    assert tokens_in(words, len(kinds)) == starts_of(borders, kinds)


@settings(max_examples=100, deadline=None)
@given(SEQUENCES, st.integers(1, 12))
def test_a_word_ends_before_the_next_word_the_next_special_or_the_border(sequences, num_words):
    borders, kinds, first, maskable, words = sets_of(sequences)
    starts = starts_of(borders, kinds)
    gaps = ~maskable | first
    for t in np.flatnonzero(kinds).tolist():
        begin = max(start for start in starts if start <= t)
        stop = min([b for b in borders.tolist() if b > t] + [u for u in range(t, len(kinds)) if kinds[u] == 0])
        later = [u for u in starts if t < u < stop]
        end = later[num_words - 1] if len(later) >= num_words else stop

        assert bits.word_start(words, t) == begin
        assert bits.word_end(words, gaps, t, num_words) == end


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 298), st.integers(1, 140)), max_size=8))
def test_stretches_are_added_and_their_new_tokens_counted(stretches):
    held, expected = bits.no_bits(300), set()
    for start, length in stretches:
        end = min(start + length, 300)

        assert bits.num_missing(held, start, end) == len(set(range(start, end)) - expected)
        bits.add_all(held, start, end)

        expected |= set(range(start, end))
        assert tokens_in(held, 300) == sorted(expected)
    assert all(bits.holds(held, t) == (t in expected) for t in range(300))


def test_flags_of_any_length_become_the_same_set():
    for length in (0, 1, 7, 63, 64, 65, 127, 128, 200):
        flags = np.random.default_rng(length).random(length) < 0.4

        assert tokens_in(bits.bits_of(flags), length) == np.flatnonzero(flags).tolist()
        assert tokens_in(bits.bits_of(flags.astype(np.uint8)), length) == np.flatnonzero(flags).tolist()
