"""An encoder whose layers multiply bytes, for prediction on processors that have instructions for it."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from spanwise.errors import ConfigError
from spanwise.nn.encoder import Encoder
from spanwise.nn.int8.layer import Int8FeedForward, Int8SelfAttention
from spanwise.nn.layer import EncoderLayer
from spanwise.nn.sequences import Sequences
from spanwise.runtime.device import Precision


class Int8Layer(nn.Module):
    """`EncoderLayer` of two quantised sub-layers, which other layers may share."""

    def __init__(self, attention: Int8SelfAttention, feed_forward: Int8FeedForward) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward

    def forward(self, hidden: Tensor, sequences: Sequences) -> Tensor:
        return self.feed_forward(self.attention(hidden, sequences))


class Int8Encoder(Encoder):
    """The same encoder with the four products of each layer in int8. It can't be trained, saved or moved to a GPU.

    Embeddings (a projection among them) and the pooler stay as they are, and so does attention.
    """

    def __init__(self, plain: Encoder) -> None:
        nn.Module.__init__(self)
        self.config, self.embeddings, self.pooler = plain.config, plain.embeddings, plain.pooler
        attentions: dict[int, Int8SelfAttention] = {}
        feed_forwards: dict[int, Int8FeedForward] = {}
        layers = []
        for index, layer in enumerate(cast("list[EncoderLayer]", plain.layers)):
            attention, feed_forward = id(layer.attention), id(layer.feed_forward)
            if attention not in attentions:  # shared sub-layers stay shared
                attentions[attention] = Int8SelfAttention(layer.attention, f"layers.{index}.attention")
            if feed_forward not in feed_forwards:
                feed_forwards[feed_forward] = Int8FeedForward(layer.feed_forward, f"layers.{index}.feed_forward")
            layers.append(Int8Layer(attentions[attention], feed_forwards[feed_forward]))
        self.layers = nn.ModuleList(layers)

    @torch.no_grad()
    def forward(
        self, input_ids: Tensor, token_type_ids: Tensor, sequences: Sequences, rows: Tensor | None = None
    ) -> Tensor:
        """As `Encoder.forward`, but for all tokens, whichever `rows` are wanted."""
        self.check_lengths(sequences)
        hidden_TD = self.embeddings(input_ids, token_type_ids, sequences)
        for layer in self.layers:
            hidden_TD = layer(hidden_TD, sequences)
        return hidden_TD


def prepared_for(precision: Precision, encoder: Encoder) -> Encoder:
    """The encoder to predict with: for "int8" one with weights of bytes, else the one given."""
    return Int8Encoder(encoder) if precision == "int8" else encoder


def check_prepared(encoder: Encoder, precision: Precision) -> None:
    """Raises: ConfigError where an encoder is asked for another precision than it was prepared for."""
    is_int8 = isinstance(encoder, Int8Encoder)
    if is_int8 and precision != "int8":
        raise ConfigError(f"this model was loaded with precision 'int8'; load it again to run it in {precision!r}.")
    if precision == "int8" and not is_int8:
        raise ConfigError("this model's weights are no bytes; name precision='int8' where it is loaded.")
