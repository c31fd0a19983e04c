import numpy as np
import torch
from toy_packs import pack_of

from spanwise.data.batch import Batch
from spanwise.nn.sequences import Sequences
from spanwise.pretraining.corruption import Symbols
from spanwise.pretraining.corruption.base import draws_for
from spanwise.runtime.seed import uniform


def test_a_draw_depends_on_the_key_and_the_place_in_its_sequence_alone():
    pack = pack_of([[0, 1, 1, 0], [0, 1, 1, 1, 0]])
    keys = np.array([5, 9], dtype=np.uint64)
    found = draws_for(pack.borders, np.array([1, 5, 7]), np.array([0, 1, 1]), keys)
    assert found.tolist() == [uniform(keys[0], 1), uniform(keys[1], 1), uniform(keys[1], 3)]
    alone = pack_of([[0, 1, 1, 1, 0]])
    assert draws_for(alone.borders, np.array([1, 3]), np.array([0, 0]), keys[1:]).tolist() == found[1:].tolist()
    assert draws_for(pack.borders, np.array([1, 5, 7]), np.array([0, 1, 1]), keys + np.uint64(1))[0] != found[0]


def test_symbols_hand_the_batch_on_and_learn_nothing():
    ids = torch.arange(5)
    batch = Batch(input_ids=ids, token_type_ids=torch.zeros_like(ids), sequences=Sequences.from_lengths([5]))
    module = Symbols().build(None)
    corrupted = module(batch)
    assert corrupted.input_ids is ids and corrupted.losses == {} and corrupted.original_ids is None
    assert not list(module.parameters()) and Symbols().objectives == {}
