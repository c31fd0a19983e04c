"""A toy encoder beside the same weights in transformers' BERT."""

import torch
from transformers import BertConfig, BertModel

from spanwise.interop.tables import bert
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize

MODERN = dict(
    num_token_types=0, norm_eps=1e-5, hidden_dropout=0.0, norm_place="pre", rotary_base=160_000.0, gated=True,
    local_rotary_base=10_000.0, local_window=4, global_every=2,
    attention_bias=False, feed_forward_bias=False, norm_bias=False, head_bias=False,
)  # fmt: skip
"""ModernBERT's encoder at toy size."""


def toy_config(**changes) -> EncoderConfig:
    values = {"vocab_size": 99, "hidden_size": 32, "num_layers": 3, "num_heads": 4, "intermediate_size": 64}
    return EncoderConfig(**(values | {"max_positions": 40} | changes))


def toy_encoder(seed=0, **changes) -> Encoder:
    encoder = Encoder(toy_config(**changes))
    initialize(encoder, encoder.config, seed)
    with torch.no_grad():  # weights of order one show mistakes that small ones hide
        for parameter in encoder.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed + 1))
        encoder.embeddings.word.weight[encoder.config.vocab_size :] = 0.0
    return encoder.eval()


def hugging_face_twin(encoder: Encoder) -> BertModel:
    """transformers' `BertModel` with the weights of `encoder`."""
    config = encoder.config
    twin = BertModel(
        BertConfig(
            vocab_size=config.vocab_size,
            hidden_size=config.hidden_size,
            num_hidden_layers=config.num_layers,
            num_attention_heads=config.num_heads,
            intermediate_size=config.intermediate_size,
            max_position_embeddings=config.max_positions,
            hidden_act="gelu_pytorch_tanh" if config.activation == "gelu_tanh" else "gelu",
            layer_norm_eps=config.norm_eps,
            hidden_dropout_prob=config.hidden_dropout,
            attention_probs_dropout_prob=config.attention_dropout,
        ),
        add_pooling_layer=False,
    )
    state = dict(encoder.named_parameters())
    state["embeddings.word.weight"] = state["embeddings.word.weight"][: config.vocab_size]
    theirs = bert.BERT.key_map(config, {}).encoder_to_theirs(state)
    twin.load_state_dict({name.removeprefix("bert."): tensor.detach() for name, tensor in theirs.items()})
    return twin.eval()
