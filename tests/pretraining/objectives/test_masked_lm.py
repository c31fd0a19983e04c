"""Masked-LM targets are the original ids of all hidden tokens."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from toy_packs import hidden_of, packs_of

from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.pretraining.masking import GeometricSpans
from spanwise.pretraining.masking.merge import hidden_tokens
from spanwise.pretraining.objectives import MaskedLM
from spanwise.runtime.seed import keys_for


def masked(pack, ratio: float = 0.15):
    spans = GeometricSpans(ratio=ratio).select(pack, keys_for(0, "masking", 0, pack.block_ids))
    return pack, spans, hidden_tokens(pack, spans)


@pytest.fixture(scope="module")
def encoder():
    torch.manual_seed(0)
    shape = dict(hidden_size=32, num_layers=1, num_heads=2, intermediate_size=64)
    return Encoder(EncoderConfig(vocab_size=200, max_positions=64, **shape))


def test_every_hidden_token_is_a_target_with_its_original_id():
    pack, spans, hidden = masked(packs_of(6, 60))

    targets = MaskedLM().targets(pack, spans, hidden)

    where = np.flatnonzero(hidden_of(pack, spans))
    assert targets.count == len(where) > 0
    np.testing.assert_array_equal(targets.positions.numpy(), where)
    np.testing.assert_array_equal(targets.ids.numpy(), pack.input_ids[where])


def test_token_id_0_is_a_legal_target(encoder):
    """No id is an ignore index."""
    pack, spans, hidden = masked(packs_of(2, 20))
    zero = dataclasses.replace(pack, input_ids=np.zeros_like(pack.input_ids))
    targets = MaskedLM().targets(zero, spans, hidden_tokens(zero, spans))

    loss = MaskedLM().build(encoder)(torch.randn(len(pack.input_ids), 32), targets)

    assert targets.count == hidden.position.size and not targets.ids.any()
    assert loss.sum > 0


def test_the_loss_is_the_plain_cross_entropy_sum(encoder):
    pack, spans, hidden = masked(packs_of(3, 40))
    targets = MaskedLM().targets(pack, spans, hidden)
    head = MaskedLM().build(encoder)
    hidden_TD = torch.randn(len(pack.input_ids), 32)

    loss = head(hidden_TD, targets, per_row=True)

    logits = head.transform(hidden_TD[targets.positions]) @ encoder.word_embedding[:200].T + head.bias[:200]
    torch.testing.assert_close(loss.sum, torch.nn.functional.cross_entropy(logits, targets.ids, reduction="sum"))
    torch.testing.assert_close(loss.losses.sum(), loss.sum.detach())


def test_a_fresh_head_guesses_like_a_uniform_law(encoder):
    """Section 9: the initial loss is about ln V."""
    pack, spans, hidden = masked(packs_of(30, 40))
    targets = MaskedLM().targets(pack, spans, hidden)
    small = Encoder(encoder.config)
    initialize(small, encoder.config, 0, prefix="encoder")

    loss = MaskedLM().build(small)(torch.randn(len(pack.input_ids), 32), targets)

    assert loss.sum.item() / targets.count == pytest.approx(math.log(200), abs=0.1)


def test_a_pack_without_targets_has_loss_0_and_reaches_every_parameter(encoder):
    pack, spans, hidden = masked(packs_of(2, 20), ratio=0.0)
    targets = MaskedLM().targets(pack, spans, hidden)
    head = MaskedLM().build(encoder)

    loss = head(torch.randn(len(pack.input_ids), 32, requires_grad=True), targets)
    loss.sum.backward()

    assert targets.count == 0 and loss.sum.item() == 0.0
    assert all(p.grad is not None and not p.grad.any() for p in head.parameters())
