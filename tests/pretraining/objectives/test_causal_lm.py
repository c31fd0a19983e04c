"""Every token but the last of its sequence guesses the one that follows."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from toy_packs import packs_of

from spanwise.errors import ConfigError
from spanwise.interop.checkpoint import real_tensors
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.pretraining.objectives import CausalLM

SHAPE = dict(vocab_size=200, max_positions=64, hidden_size=32, num_layers=1, num_heads=2, intermediate_size=64)


@pytest.fixture(scope="module")
def encoder():
    made = Encoder(EncoderConfig(**SHAPE, causal=True))
    initialize(made, made.config, 0, prefix="encoder")
    return made


def test_targets_are_the_next_tokens_inside_each_sequence():
    pack = packs_of(4, 20)

    targets = CausalLM().targets(pack)

    ids = [pack.input_ids[a:b] for a, b in zip(pack.borders, pack.borders[1:], strict=False)]
    np.testing.assert_array_equal(targets.ids.numpy(), np.concatenate([one[1:] for one in ids]))
    np.testing.assert_array_equal(pack.input_ids[targets.positions.numpy()], np.concatenate([one[:-1] for one in ids]))
    assert targets.count == len(pack.input_ids) - 4
    assert CausalLM().targets_per_token(22) * len(pack.input_ids) == pytest.approx(targets.count)


def test_the_loss_is_the_plain_cross_entropy_of_the_word_table(encoder):
    pack = packs_of(3, 40)
    targets = CausalLM().targets(pack)
    hidden_TD = torch.randn(len(pack.input_ids), 32, generator=torch.Generator().manual_seed(0))

    loss = CausalLM().build(encoder)(hidden_TD, targets, per_row=True)

    logits = hidden_TD[targets.positions] @ encoder.word_embedding[:200].T
    torch.testing.assert_close(loss.sum, torch.nn.functional.cross_entropy(logits, targets.ids, reduction="sum"))
    torch.testing.assert_close(loss.losses.sum(), loss.sum.detach())
    assert loss.num_correct == (logits.argmax(1) == targets.ids).sum()


def test_the_head_owns_no_parameter_and_teaches_the_word_table(encoder):
    pack = packs_of(2, 20)
    head = CausalLM().build(encoder)
    hidden_TD = torch.randn(len(pack.input_ids), 32, requires_grad=True)

    head(hidden_TD, CausalLM().targets(pack)).sum.backward()

    assert list(head.parameters()) == [] and real_tensors(head, 200) == {} and head.state_dict() == {}
    assert encoder.word_embedding.grad[:200].any() and hidden_TD.grad.any()
    encoder.word_embedding.grad = None


def test_an_untrained_model_guesses_like_a_uniform_law_and_no_later_token_matters(encoder):
    from spanwise.nn.sequences import Sequences

    pack = packs_of(20, 40)
    targets = CausalLM().targets(pack)
    ids = torch.from_numpy(pack.input_ids)
    sequences = Sequences.from_lengths(np.diff(pack.borders))
    changed = ids.clone()
    last = torch.from_numpy(pack.borders[1:] - 1)
    changed[last] = 7

    encoder.eval()
    with torch.no_grad():
        hidden_TD, other_TD = (encoder(one, torch.zeros_like(ids), sequences) for one in (ids, changed))
        loss = CausalLM().build(encoder)(hidden_TD, targets)

    assert loss.sum.item() / targets.count == pytest.approx(math.log(200), abs=0.1)
    before = torch.ones(len(ids), dtype=torch.bool)
    before[last] = False
    torch.testing.assert_close(hidden_TD[before], other_TD[before])
    assert not torch.allclose(hidden_TD[last], other_TD[last])


def test_a_sequence_of_one_token_has_no_target_and_a_loss_of_0(encoder):
    from toy_packs import pack_of

    targets = CausalLM().targets(pack_of([[1], [1]]))
    hidden_TD = torch.randn(2, 32, requires_grad=True)

    loss = CausalLM().build(encoder)(hidden_TD, targets)
    loss.sum.backward()

    assert targets.count == 0 and loss.sum.item() == 0.0 and not hidden_TD.grad.any()


def test_word_vectors_of_another_size_are_refused():
    with pytest.raises(ConfigError, match="embedding_size"):
        CausalLM().build(Encoder(EncoderConfig(**SHAPE, causal=True, embedding_size=16)))
