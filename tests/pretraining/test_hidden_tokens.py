"""Distances, neighbours and clusters of hidden tokens, against a picture drawn by hand."""

import numpy as np

from spanwise.pretraining.hidden_tokens import HIDDEN, describe_hidden
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
    spans = Spans(sequence=np.array([0, 1]), start=np.array([2, 9]), end=np.array([7, 10]), num_drawn=2)
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
