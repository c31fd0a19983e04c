"""The counting baselines are proper distributions, see only visible neighbours and agree with counting by hand."""

import numpy as np
import pytest

from spanwise.errors import DataError
from spanwise.pretraining.baselines import HIDDEN, NeighbourBaseline, describe_hidden
from spanwise.pretraining.packs import Hidden, Pack, Spans


def make_masked():
    #        C   a   b   c   d   e   f   S   C   g   h   S
    ids = np.array([90, 10, 11, 12, 13, 14, 15, 91, 90, 16, 17, 91])
    maskable = ids < 90
    pack = Pack(
        input_ids=ids,
        token_type_ids=np.zeros(12, dtype=np.int64),
        borders=np.array([0, 8, 12]),
        maskable=maskable,
        starts_word=maskable,
        block_ids=np.array([4, 9]),
    )
    spans = Spans(sequence=np.array([0, 1]), start=np.array([2, 9]), end=np.array([7, 10]))
    position = np.array([2, 3, 4, 5, 6, 9])
    hidden = Hidden(
        position=position,
        span=np.array([0, 0, 0, 0, 0, 1]),
        sequence=np.array([0, 0, 0, 0, 0, 1]),
        original_ids=ids[position],
    )
    return pack, spans, hidden


def test_distance_counts_from_the_nearer_boundary():
    facts = describe_hidden([make_masked()])

    assert facts.distance.tolist() == [1, 2, 3, 2, 1, 1]
    assert facts.position.tolist() == [0, 1, 2, 3, 4, 0]


def test_only_visible_real_tokens_of_the_same_sequence_are_neighbours():
    facts = describe_hidden([make_masked()])

    assert facts.left.tolist() == [10, HIDDEN, HIDDEN, HIDDEN, HIDDEN, HIDDEN]
    assert facts.right.tolist() == [HIDDEN, HIDDEN, HIDDEN, HIDDEN, HIDDEN, 17]


def test_sequences_are_counted_through_all_packs():
    facts = describe_hidden([make_masked(), make_masked()])

    assert facts.sequence.tolist() == [0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 3]
    assert facts.original_ids.tolist()[:6] == [11, 12, 13, 14, 15, 16]


def test_deep_tokens_are_one_group_and_no_packs_give_no_tokens():
    facts = describe_hidden([])

    assert len(facts.original_ids) == len(facts.depth) == 0


def make_baseline() -> NeighbourBaseline:
    ids = np.array([1, 2, 1, 2, 1, 3, 2, 2])
    return NeighbourBaseline(ids, np.array([0, 0, 0, 0, 0, 0, 1, 1]), vocab_size=5)


def test_unigram_losses_are_add_one_frequencies():
    guesses = make_baseline().unigram_guesses(np.array([2, 3, 4]))

    np.testing.assert_allclose(guesses.losses, -np.log([5 / 13, 2 / 13, 1 / 13]))
    assert guesses.correct.tolist() == [True, False, False]


def test_without_a_visible_neighbour_the_bigram_guess_is_the_unigram_guess():
    baseline, ids = make_baseline(), np.array([0, 1, 2, 3, 4])
    nothing = np.full(5, HIDDEN)

    np.testing.assert_allclose(
        baseline.bigram_guesses(ids, nothing, nothing).losses, baseline.unigram_guesses(ids).losses
    )


def test_a_left_neighbour_gives_the_witten_bell_row_counted_by_hand():
    # 1 is followed by 2 twice and by 3 once: 3 tokens, 2 distinct followers.
    expected = (2 + 2 * 5 / 13) / 5

    guesses = make_baseline().bigram_guesses(np.array([2]), np.array([1]), np.array([HIDDEN]))

    assert guesses.losses[0] == pytest.approx(-np.log(expected))
    assert guesses.correct[0]


@pytest.mark.parametrize(("left", "right"), [(1, 1), (1, HIDDEN), (HIDDEN, 2), (4, 3)])
def test_the_chances_of_all_tokens_sum_to_one(left, right):
    losses = make_baseline().bigram_guesses(np.arange(5), np.full(5, left), np.full(5, right)).losses

    assert np.exp(-losses).sum() == pytest.approx(1.0)


def test_pairs_never_cross_a_document():
    baseline = make_baseline()

    # 3 ends the first document, 2 begins the second: 3 has no follower.
    row = np.exp(-baseline.bigram_guesses(np.arange(5), np.full(5, 3), np.full(5, HIDDEN)).losses)
    np.testing.assert_allclose(row, baseline.unigram)


def test_a_bigram_chain_is_guessed_better_from_its_neighbours_than_without():
    rng = np.random.default_rng(0)
    ids = np.zeros(4000, dtype=np.int64)
    for i in range(1, len(ids)):
        ids[i] = (ids[i - 1] + 1) % 20 if rng.random() < 0.7 else rng.integers(20)
    baseline = NeighbourBaseline(ids[:3000], np.zeros(3000), vocab_size=20)
    hidden = np.arange(3001, 3999)

    both = baseline.bigram_guesses(ids[hidden], ids[hidden - 1], ids[hidden + 1])
    one = baseline.bigram_guesses(ids[hidden], ids[hidden - 1], np.full(len(hidden), HIDDEN))
    none = baseline.unigram_guesses(ids[hidden])

    assert both.losses.mean() < one.losses.mean() < none.losses.mean() - 0.8
    assert min(both.correct.mean(), one.correct.mean()) > 0.6 > none.correct.mean()


def test_an_empty_text_is_named():
    with pytest.raises(DataError, match="no tokens"):
        NeighbourBaseline(np.empty(0), np.empty(0), vocab_size=5)
