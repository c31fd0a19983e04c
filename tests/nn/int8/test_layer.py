"""The two sub-layers in int8 beside the plain ones."""

import pytest
import torch
from tests.nn.int8.byte_machine import refused_here
from tests.nn.toy import toy_encoder

from spanwise.nn.attention import packed_contexts
from spanwise.nn.int8.layer import byte_parts, pieces
from spanwise.nn.int8.linear import MOST_ROWS
from spanwise.nn.layer import with_products
from spanwise.nn.sequences import Sequences


def hidden(num_rows, width=32):
    return torch.nn.functional.layer_norm(
        torch.randn(num_rows, width, generator=torch.Generator().manual_seed(3)), (width,)
    )


def in_bytes(encoder):
    """The first layer of an encoder in int8."""
    return with_products(encoder.layers, byte_parts)[0]


def error(ours, plain):
    return float((ours - plain).norm() / plain.norm())


@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_is_near_the_plain_one(causal):
    if refused_here():
        return
    encoder, hidden_TD = toy_encoder(causal=causal), hidden(40)
    context = packed_contexts(encoder.config, Sequences.from_lengths([9, 1, 30]), training=False)[0]
    plain, ours = encoder.layers[0].attention, in_bytes(encoder).attention
    with torch.no_grad():
        assert 0 < error(ours(hidden_TD, context), plain(hidden_TD, context)) < 0.02


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh"])
def test_feed_forward_is_near_the_plain_one(activation):
    if refused_here():
        return
    encoder = toy_encoder(activation=activation)
    with torch.no_grad():
        plain, ours = encoder.layers[0].feed_forward, in_bytes(encoder).feed_forward
        assert 0 < error(ours(hidden(40)), plain(hidden(40))) < 0.02


@pytest.mark.parametrize("num_rows", [1, 15, 17, MOST_ROWS, MOST_ROWS + 1])
def test_a_row_is_the_same_bits_alone_and_at_any_place_of_a_pack(num_rows):
    if refused_here():
        return
    layer = in_bytes(toy_encoder()).feed_forward
    rows = hidden(num_rows)
    with torch.no_grad():
        packed = layer(rows)
        for place in {0, num_rows // 2, num_rows - 1}:
            assert torch.equal(layer(rows[place : place + 1])[0], packed[place])


def test_pieces_cover_every_row_once():
    for num_rows in (0, 1, MOST_ROWS, 2 * MOST_ROWS + 3):
        assert [row for piece in pieces(num_rows) for row in range(num_rows)[piece]] == list(range(num_rows))
