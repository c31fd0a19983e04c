"""Labels are read at the pooled first token of the sequences that have one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from toy_packs import packs_of

from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.pretraining.formats import OrderedPair, SentencePair, SingleSegment, SplitSegments
from spanwise.pretraining.needs import check_needs
from spanwise.pretraining.objectives import NextSentence, SentenceOrder
from spanwise.pretraining.objectives.pair_label import PairScorer, pair_targets

SHAPE = dict(vocab_size=200, max_positions=64, hidden_size=32, num_layers=1, num_heads=2, intermediate_size=64)


@pytest.fixture(scope="module")
def encoder():
    torch.manual_seed(0)
    return Encoder(EncoderConfig(**SHAPE, pooler=True))


def labelled(*labels: int):
    return replace(packs_of(len(labels), 10), pair_labels=np.array(labels))


def test_sequences_without_a_label_are_no_targets():
    targets = pair_targets(labelled(1, -1, 0, -1))

    assert targets.positions.tolist() == [0, 24] and targets.labels.tolist() == [1, 0] and targets.count == 2
    with pytest.raises(ConfigError, match="no pair labels"):
        pair_targets(packs_of(2, 10))


def test_the_loss_is_the_plain_cross_entropy_over_the_pooler(encoder):
    head = PairScorer(encoder, "nsp")
    with torch.no_grad():
        head.weight.normal_()
        head.bias.normal_()
    targets = pair_targets(labelled(1, -1, 0, 1))
    hidden_TD = torch.randn(48, 32)

    loss = head(hidden_TD, targets, per_row=True)

    scores = encoder.pooler(hidden_TD[[0, 24, 36]]) @ head.weight.T + head.bias
    expected = torch.nn.functional.cross_entropy(scores, targets.labels, reduction="none")
    torch.testing.assert_close(loss.sum, expected.sum())
    torch.testing.assert_close(loss.losses, expected.detach())
    assert loss.num_correct == (scores.argmax(1) == targets.labels).sum()


def test_the_head_owns_two_rows_and_a_bias_and_teaches_the_encoders_pooler(encoder):
    head = PairScorer(encoder, "nsp")

    head(torch.randn(24, 32), pair_targets(labelled(1, 1))).sum.backward()

    assert {name: tuple(p.shape) for name, p in head.named_parameters()} == {"weight": (2, 32), "bias": (2,)}
    assert head.weight.grad.any() and head.bias.grad.any()
    with torch.no_grad():
        head.weight.normal_()
    head(torch.randn(24, 32), pair_targets(labelled(0, 1))).sum.backward()
    assert encoder.pooler.dense.weight.grad.any()


def test_a_pack_without_labels_has_loss_0_and_reaches_every_parameter(encoder):
    head = PairScorer(encoder, "sop")
    encoder.zero_grad()
    hidden_TD = torch.randn(24, 32, requires_grad=True)

    loss = head(hidden_TD, pair_targets(labelled(-1, -1)))
    loss.sum.backward()

    assert loss.sum.item() == 0.0 and loss.num_correct == 0
    for parameter in (*head.parameters(), *encoder.pooler.parameters(), hidden_TD):
        assert parameter.grad is not None and not parameter.grad.any()


def test_an_encoder_without_a_pooler_is_refused():
    with pytest.raises(ConfigError, match=r"'nsp'.*encoder\.pooler=true"):
        PairScorer(Encoder(EncoderConfig(**SHAPE)), "nsp")


def test_every_sequence_is_a_target_with_its_label(store):
    part = SentencePair(max_length=40)
    table = part.blocks(store, 0, 0)
    pack = part.assemble(store, table, np.arange(10))

    targets = NextSentence().targets(pack)

    assert targets.labels.tolist() == table.pair_labels[:10].tolist()
    assert targets.positions.tolist() == pack.borders[:-1].tolist()
    assert NextSentence().targets_per_token(40) == 1 / 40


def test_single_segments_and_swapped_pairs_are_refused():
    check_needs(SentencePair(), {"nsp": NextSentence()})
    for other in (SingleSegment(), OrderedPair()):
        with pytest.raises(ConfigError, match=f"'nsp'.*{type(other).__name__}.*Try SentencePair or SegmentPair"):
            check_needs(other, {"nsp": NextSentence()})


def test_a_negative_weight_is_refused():
    with pytest.raises(ConfigError, match=r"weight cannot be -1\.0; expected at least 0"):
        NextSentence(weight=-1.0)


def test_pairs_are_targets_and_single_sentences_are_not(store):
    part = OrderedPair(max_length=40)
    table = part.blocks(store, 0, 0)
    pack = part.assemble(store, table, np.arange(table.num_blocks))

    targets = SentenceOrder().targets(pack)

    labels = table.pair_labels
    assert 0 < targets.count < len(labels)
    assert targets.labels.tolist() == labels[labels >= 0].tolist()
    assert targets.positions.tolist() == pack.borders[:-1][labels >= 0].tolist()
    assert SentenceOrder().targets_per_token(40) == 1 / 40


def test_formats_that_swap_nothing_are_refused():
    check_needs(OrderedPair(), {"sop": SentenceOrder()})
    for other in (SplitSegments(), SentencePair()):
        with pytest.raises(ConfigError, match=f"'sop'.*{type(other).__name__}.*Try OrderedPair"):
            check_needs(other, {"sop": SentenceOrder()})


def test_a_negative_weight_of_sentence_order_is_refused():
    with pytest.raises(ConfigError, match=r"weight cannot be -1\.0; expected at least 0"):
        SentenceOrder(weight=-1.0)
