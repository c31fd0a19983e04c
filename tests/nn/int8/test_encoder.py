"""An encoder in int8 beside the plain one: near it, the same bits in every pack, shared layers quantised once."""

import pytest
import torch
from tests.nn.int8.byte_machine import CPU, refused_here
from tests.nn.toy import MODERN, toy_encoder

from spanwise.errors import ConfigError, DataError
from spanwise.nn.encoder import Encoder
from spanwise.nn.int8.encoder import Int8Encoder, check_prepared, prepared_for
from spanwise.nn.sequences import Sequences
from spanwise.runtime.device import autocast

TOLERANCE = 0.05  # of the norm of all hidden states; each product adds some 0.5 %
KINDS = {
    "bert": {},
    "gelu_tanh and causal": {"activation": "gelu_tanh", "causal": True},
    "all layers shared, factorised": {"sharing": "all", "embedding_size": 16},
    "attention shared": {"sharing": "attention"},
    "offset and one token type": {"position_offset": 2, "num_token_types": 1},
    "modern": MODERN,
    "modern, all layers shared, causal, SwiGLU": MODERN | {"sharing": "all", "causal": True, "activation": "silu"},
    "SiLU without a gate": {"activation": "silu", "norm_bias": False},
}


def read(encoder, lengths, precision="fp32", seed=5):
    ids = torch.randint(0, 99, (sum(lengths),), generator=torch.Generator().manual_seed(seed))
    with torch.inference_mode(), autocast(precision, CPU):
        return encoder(ids, torch.zeros_like(ids), Sequences.from_lengths(lengths))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_hidden_states_are_near_those_in_float32(kind, precision):
    if refused_here():
        return
    plain = toy_encoder(**KINDS[kind])
    lengths = [30, 7, 1, 38]
    expected, found = read(plain, lengths), read(Int8Encoder(plain), lengths, precision)
    assert found.dtype == torch.float32
    assert 0 < float((found - expected).norm() / expected.norm()) < TOLERANCE


@pytest.mark.parametrize("kind", ["bert", "modern"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_sequence_has_the_same_bits_alone_and_in_a_pack(threads, kind):
    if refused_here():
        return
    encoder = Int8Encoder(toy_encoder(**KINDS[kind]))
    lengths = [30, 7, 38, 40, 21, 40, 40, 33, 25]  # more than one piece
    ids = torch.randint(0, 99, (sum(lengths),), generator=torch.Generator().manual_seed(6))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            packed = encoder(ids, torch.zeros_like(ids), Sequences.from_lengths(lengths)).split(lengths)
            for part, own in zip(packed, ids.split(lengths), strict=True):
                alone = encoder(own, torch.zeros_like(own), Sequences.from_lengths([len(own)]))
                assert torch.equal(part, alone)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(("sharing", "num_attentions", "num_feed_forwards"), [("all", 1, 1), ("attention", 1, 3)])
def test_shared_sub_layers_exist_once(sharing, num_attentions, num_feed_forwards):
    if refused_here():
        return
    layers = Int8Encoder(toy_encoder(sharing=sharing)).layers
    assert len({id(layer.attention) for layer in layers}) == num_attentions
    assert len({id(layer.feed_forward) for layer in layers}) == num_feed_forwards


def test_a_sequence_that_is_too_long_is_refused():
    if refused_here():
        return
    with pytest.raises(DataError, match="41 tokens"):
        read(Int8Encoder(toy_encoder()), [41])


@pytest.mark.parametrize("kind", ["bert", "modern"])
def test_rows_that_are_wanted_have_the_bits_that_they_have_among_all(kind):
    if refused_here():
        return
    encoder = Int8Encoder(toy_encoder(**KINDS[kind]))
    ids, rows = torch.arange(40), torch.tensor([0, 7, 39])
    for precision in ("fp32", "bf16"):
        with torch.inference_mode(), autocast(precision, CPU):
            whole, some = (encoder(ids, ids * 0, Sequences.from_lengths([30, 10]), wanted) for wanted in (None, rows))
        assert torch.equal(whole[rows], some[rows]) and some[1].eq(0).all()


def test_embeddings_and_pooler_stay_what_they_are():
    if refused_here():
        return
    plain = toy_encoder(pooler=True)
    encoder = Int8Encoder(plain)
    assert encoder.word_embedding is plain.word_embedding and encoder.pooler is plain.pooler


def test_a_model_is_asked_in_the_precision_that_it_was_loaded_with():
    plain = toy_encoder()
    assert prepared_for("bf16", plain) is plain
    check_prepared(plain, "auto")
    with pytest.raises(ConfigError, match="precision='int8' where it is loaded"):
        check_prepared(plain, "int8")
    if refused_here():
        return
    encoder = prepared_for("int8", plain)
    assert isinstance(encoder, Encoder)
    check_prepared(encoder, "int8")
    for precision in ("auto", "fp32", "bf16"):
        with pytest.raises(ConfigError, match="load it again"):
            check_prepared(encoder, precision)
