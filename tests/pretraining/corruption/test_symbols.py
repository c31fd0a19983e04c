import torch

from spanwise.data.batch import Batch
from spanwise.nn.sequences import Sequences
from spanwise.pretraining.corruption import Symbols


def test_symbols_hand_the_batch_on_and_learn_nothing():
    ids = torch.arange(5)
    batch = Batch(input_ids=ids, token_type_ids=torch.zeros_like(ids), sequences=Sequences.from_lengths([5]))
    module = Symbols().build(None)
    corrupted = module(batch)
    assert corrupted.input_ids is ids and corrupted.losses == {} and corrupted.original_ids is None
    assert not list(module.parameters()) and Symbols().objectives == {}
