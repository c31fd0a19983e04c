import numpy as np
import pytest
import torch

from spanwise.nn.sequences import Sequences


def test_borders_and_positions_follow_the_lengths():
    sequences = Sequences.from_lengths([3, 1, 2])
    assert sequences.cu_seqlens.tolist() == [0, 3, 4, 6] and sequences.cu_seqlens.dtype == torch.int32
    assert sequences.positions.tolist() == [0, 1, 2, 0, 0, 1] and sequences.positions.dtype == torch.int64
    assert sequences.num_tokens == 6 and sequences.max_length == 3
    assert all(type(length) is int for length in sequences.lengths)


@pytest.mark.parametrize("lengths", [[0], [2, -1], [[1, 2]]])
def test_lengths_must_be_a_flat_list_above_zero(lengths):
    with pytest.raises(ValueError, match="lengths"):
        Sequences.from_lengths(lengths)


def test_filler_is_a_sequence_of_its_own_behind_the_others():
    filled = Sequences.from_lengths([3, 1]).with_filler(2)
    assert filled.lengths == (3, 1, 2)
    assert filled.cu_seqlens.tolist() == [0, 3, 4, 6] and filled.cu_seqlens.dtype == torch.int32
    assert filled.positions.tolist() == [0, 1, 2, 0, 0, 0]


def test_a_token_keeps_its_key_whatever_lies_beside_its_sequence_and_filler_has_none_of_them():
    keys = np.array([7, 8], dtype=np.uint64)
    both, one = Sequences.from_lengths([3, 2]).keyed(keys), Sequences.from_lengths([2]).keyed(keys[1:])
    assert both.keys.dtype == torch.int64 and both.keys[3:].equal(one.keys) and len(set(both.keys.tolist())) == 5
    assert both.seeds == (7, 8) and Sequences.from_lengths([2]).keys is None
    filled = both.with_filler(2).to("cpu")
    assert filled.keys.tolist() == [*both.keys.tolist(), 0, 0] and filled.seeds == (7, 8, 0)
