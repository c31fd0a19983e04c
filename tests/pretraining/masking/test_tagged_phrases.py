"""Entities and noun phrases: half of the draws, whole, apart from each other, and never an endless loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from toy_packs import hidden_of, pack_of, packs_of

from spanwise.errors import ConfigError
from spanwise.pretraining.masking import TaggedPhrases, WholeWords
from spanwise.pretraining.masking.merge import word_starts
from spanwise.pretraining.masking.tagged_phrases import list_phrases
from spanwise.runtime.seed import keys_for


def keys_of(pack, epoch: int = 0, seed: int = 0) -> np.ndarray:
    return keys_for(seed, "masking", epoch, pack.block_ids)


def tagged(pack, tags) -> object:
    return replace(pack, side={"entities": np.asarray(tags, dtype=np.uint8)})


def with_phrases(pack, every: int = 12, seed: int = 5):
    """Tag two or three whole words at every some twelfth place; some touch the next phrase."""
    rng = np.random.default_rng(seed)
    tags = np.zeros(len(pack.maskable), dtype=np.uint8)
    starts = np.flatnonzero(pack.starts_word & pack.maskable)
    for first in range(0, len(starts) - 8, every):
        for begin, size in ((first, rng.integers(2, 4)), (first + 3, 1 + rng.integers(0, 2))):
            tags[starts[begin] : starts[begin + size]] = 2
            tags[starts[begin]] = 1
    return tagged(pack, np.where(pack.maskable, tags, 0))


def phrases_of(pack) -> list[tuple[int, int]]:
    found = []
    for first, last in zip(pack.borders[:-1], pack.borders[1:], strict=True):
        start, end = np.zeros(600, dtype=np.int64), np.zeros(600, dtype=np.int64)
        tags = pack.side["entities"]
        words = word_starts(pack.borders, pack.maskable, pack.starts_word)
        count = list_phrases(first, last, pack.maskable, words, tags, start, end)
        found += list(zip(start[:count].tolist(), end[:count].tolist(), strict=True))
    return found


@pytest.fixture(scope="module")
def blocks():
    return with_phrases(packs_of(600, 510))


@pytest.mark.parametrize(
    ("sequence", "tags", "phrases"),
    [
        ([0, 1, 1, 1, 0], [0, 1, 2, 0, 0], [(1, 3)]),
        ([0, 1, 1, 1, 0], [0, 1, 1, 2, 0], [(1, 2), (2, 4)]),  # two that touch stay two
        ([0, 1, 1, 1, 0], [0, 2, 2, 1, 0], [(1, 3), (3, 4)]),  # the block begins inside a phrase
        ([0, 1, 2, 2, 1, 0], [0, 0, 1, 0, 0, 0], [(1, 4)]),  # widened to whole words
        ([0, 2, 1, 0, 1, 0], [0, 1, 2, 2, 2, 0], [(1, 3), (4, 5)]),  # a special ends a phrase
        ([0, 1, 0], [1, 0, 1], []),
        ([], [], []),
    ],
)
def test_phrases_are_read_off_the_tags(sequence, tags, phrases):
    assert phrases_of(tagged(pack_of([sequence]), tags)) == phrases


def test_half_of_the_draws_are_phrases_unless_another_share_is_asked_for():
    """One-word phrases at the end of long texts: what is drawn can be told apart by its place."""
    pack = pack_of([[0, *[1] * 400, 0]] * 200)
    tags = np.tile([0] * 301 + [1] * 100 + [0], 200)
    for scheme in (TaggedPhrases(ratio=0.02), *(TaggedPhrases(phrase_share=p, ratio=0.02) for p in (0.0, 0.3, 1.0))):
        share = scheme.phrase_share

        hidden = hidden_of(pack, scheme.select(tagged(pack, tags), keys_of(pack)))

        expected = share + (1 - share) * 0.25  # a word is one of the tagged with chance 1/4
        assert hidden[tags > 0].sum() / hidden.sum() == pytest.approx(expected, abs=0.03)
    assert TaggedPhrases().phrase_share == 0.5


def test_fifteen_percent_in_all_and_phrases_are_finished(blocks):
    spans = TaggedPhrases().select(blocks, keys_of(blocks))
    hidden = hidden_of(blocks, spans)

    per_sequence = np.add.reduceat(hidden, blocks.borders[:-1])
    longest = max(end - start for start, end in phrases_of(blocks))
    assert (per_sequence >= 77).all() and (per_sequence < 77 + longest).all()
    word = np.cumsum(blocks.starts_word) * blocks.maskable
    size, part = np.bincount(word), np.bincount(word, weights=hidden)
    assert (((part == 0) | (part == size))[1:]).all() and not hidden[~blocks.maskable].any()


def test_the_strict_option_alone_cuts_at_the_budget(blocks):
    hidden = hidden_of(blocks, TaggedPhrases(end="budget").select(blocks, keys_of(blocks)))
    assert (np.add.reduceat(hidden, blocks.borders[:-1]) == 77).all()


def test_no_phrase_is_drawn_twice():
    """With phrases alone and none left over, all of them are hidden before any word is asked for."""
    pack = pack_of([[0, *[1] * 20, 0]] * 300)
    tags = np.tile([0, 1, 2, 0, 1, 0, 1, 2, *[0] * 14], 300)

    spans = TaggedPhrases(phrase_share=1.0, ratio=0.25).select(tagged(pack, tags), keys_of(pack))

    hidden = hidden_of(pack, spans)
    assert hidden[tags > 0].all() and hidden.sum() == 300 * 5


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_block_without_phrases_falls_back_to_whole_words(share):
    """The released loop never ends there. The law is that of whole words."""
    pack = packs_of(1500, 126)
    plain = tagged(pack, np.zeros(len(pack.maskable)))
    ours = WholeWords().select(pack, keys_of(pack, 1))

    spans = TaggedPhrases(phrase_share=share).select(plain, keys_of(pack))

    assert (spans.end - spans.start).sum() / (ours.end - ours.start).sum() == pytest.approx(1, abs=0.01)
    assert len(spans.start) / len(ours.start) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("ratio", [0.0, 0.15, 1.0])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("end", ["words", "budget"])
def test_every_odd_sequence_ends_with_its_budget_kept(ratio, share, end):
    """Tags anywhere, also at specials and inside words."""
    rng = np.random.default_rng(0)
    odd = [[], [0], [0, 0], [2] * 5, [0, 2, 2, 2, 0], [0, 1, *[2] * 39, 0], [1], [0, 1, 0], [0, 1, 0, 2, 0, 1, 2, 0]]
    odd += [rng.integers(0, 3, rng.integers(0, 12)).tolist() for _ in range(4000)]
    pack = pack_of(odd)
    pack = tagged(pack, rng.integers(0, 3, len(pack.maskable)))

    spans = TaggedPhrases(ratio=ratio, phrase_share=share, end=end).select(pack, keys_of(pack))

    maskable = np.array([sum(kind > 0 for kind in sequence) for sequence in odd])
    hidden = np.bincount(spans.sequence, weights=spans.end - spans.start, minlength=len(odd))
    budget = np.ceil(ratio * maskable)
    assert (hidden >= budget).all() and (hidden <= maskable).all()
    assert end == "words" or (hidden == budget).all()


def test_a_capacity_cuts_last_phrases_but_keeps_every_budget():
    pack = pack_of([[0, *[1] * 40, 0]] * 20)
    pack = tagged(pack, np.tile([0, *([1, 2, 2, 2, 2] * 8), 0], 20))
    free = TaggedPhrases(phrase_share=1.0).select(pack, keys_of(pack))

    spans = TaggedPhrases(phrase_share=1.0).select(pack, keys_of(pack), capacity=130)

    hidden = np.bincount(spans.sequence, weights=spans.end - spans.start)
    assert (free.end - free.start).sum() > 130 == hidden.sum()
    assert (hidden >= 6).all()


def test_masks_are_a_pure_function_of_seed_epoch_and_block():
    together = with_phrases(packs_of(6, 100))
    length = int(together.borders[1])
    alone = tagged(
        pack_of([[0, *np.where(together.starts_word[1 : length - 1], 1, 2).tolist(), 0]]),
        together.side["entities"][:length],
    )
    before = together.side["entities"].tobytes()

    spans = TaggedPhrases().select(together, keys_of(together))
    again = TaggedPhrases().select(alone, keys_of(alone))

    first = spans.sequence == 0
    np.testing.assert_array_equal(spans.start[first], again.start)
    np.testing.assert_array_equal(spans.end[first], again.end)
    assert TaggedPhrases().select(alone, keys_of(alone, 1)).start.tolist() != again.start.tolist()
    assert together.side["entities"].tobytes() == before


def test_streams_of_masks_never_change_between_releases():
    pack = pack_of([[0, *[1, 1, 2, 1, 1, 2, 2, 1] * 5, 0]])
    pack = tagged(pack, [0, *([1, 2, 2, 0, 1, 2, 2, 0] * 5), 0])

    spans = TaggedPhrases(ratio=0.4).select(pack, keys_of(pack))

    assert list(zip(spans.start.tolist(), spans.end.tolist(), strict=True)) == [
        (8, 12),
        (13, 18),
        (29, 32),
        (33, 36),
        (37, 40),
    ]


def test_a_pack_without_the_tags_is_refused_with_the_command_that_makes_them():
    with pytest.raises(ConfigError, match="`spanwise prepare --tag noun-phrases`"):
        TaggedPhrases(tags="noun-phrases").select(packs_of(1, 9), np.zeros(1, dtype=np.uint64))


@pytest.mark.parametrize(
    ("values", "named"),
    [({"ratio": -0.1}, "ratio"), ({"phrase_share": 1.5}, "phrase_share"), ({"tags": ""}, "tags"), ({"p": 0.2}, "p")],
)
def test_values_that_cannot_work_are_refused_by_name(values, named):
    with pytest.raises(ConfigError, match=named):
        TaggedPhrases(**values)
