"""The two sub-layers in int8 beside the plain ones."""

import pytest
import torch
from tests.nn.int8.byte_machine import refused_here
from tests.nn.toy import toy_encoder

from spanwise.nn.int8.layer import Int8FeedForward, Int8SelfAttention, pieces
from spanwise.nn.int8.linear import MOST_ROWS
from spanwise.nn.sequences import Sequences


def hidden(num_rows, width=32):
    return torch.nn.functional.layer_norm(
        torch.randn(num_rows, width, generator=torch.Generator().manual_seed(3)), (width,)
    )


def error(ours, plain):
    return float((ours - plain).norm() / plain.norm())


@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_is_near_the_plain_one(causal):
    if refused_here():
        return
    plain = toy_encoder(causal=causal).layers[0].attention
    sequences, hidden_TD = Sequences.from_lengths([9, 1, 30]), hidden(40)
    with torch.no_grad():
        assert 0 < error(Int8SelfAttention(plain, "a")(hidden_TD, sequences), plain(hidden_TD, sequences)) < 0.02


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh"])
def test_feed_forward_is_near_the_plain_one(activation):
    if refused_here():
        return
    plain = toy_encoder(activation=activation).layers[0].feed_forward
    with torch.no_grad():
        assert 0 < error(Int8FeedForward(plain, "f")(hidden(40)), plain(hidden(40))) < 0.02


@pytest.mark.parametrize("num_rows", [1, 15, 17, MOST_ROWS, MOST_ROWS + 1])
def test_a_row_is_the_same_bits_alone_and_at_any_place_of_a_pack(num_rows):
    if refused_here():
        return
    layer = Int8FeedForward(toy_encoder().layers[0].feed_forward, "f")
    rows = hidden(num_rows)
    with torch.no_grad():
        packed = layer(rows)
        for place in {0, num_rows // 2, num_rows - 1}:
            assert torch.equal(layer(rows[place : place + 1])[0], packed[place])


def test_pieces_cover_every_row_once():
    for num_rows in (0, 1, MOST_ROWS, 2 * MOST_ROWS + 3):
        assert [row for piece in pieces(num_rows) for row in range(num_rows)[piece]] == list(range(num_rows))
