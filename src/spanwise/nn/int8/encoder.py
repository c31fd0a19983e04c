"""An encoder whose layers multiply bytes, for prediction on processors that have instructions for it."""

from typing import cast

import torch
from torch import Tensor, nn

from spanwise.errors import ConfigError
from spanwise.nn.encoder import Encoder
from spanwise.nn.int8.layer import byte_parts
from spanwise.nn.layer import EncoderLayer, with_products
from spanwise.nn.padded_encoder import PaddedEncoder
from spanwise.nn.sequences import Sequences
from spanwise.runtime.device import Precision


class Int8Encoder(Encoder):
    """The same encoder with the four products of each layer in int8. It can't be trained, saved or moved to a GPU.

    Embeddings (a projection among them) and the pooler stay as they are, and so does attention.
    """

    fills_rows = False  # products of bytes have rows of filler of their own

    def __init__(self, plain: Encoder) -> None:
        nn.Module.__init__(self)
        self.config, self.embeddings = plain.config, plain.embeddings
        self.final_norm, self.pooler = plain.final_norm, plain.pooler
        layers = with_products(cast("list[EncoderLayer]", plain.layers), byte_parts)
        self.layers = nn.ModuleList(layers)
        self.eval()

    @torch.no_grad()
    def forward(
        self, input_ids: Tensor, token_type_ids: Tensor, sequences: Sequences, rows: Tensor | None = None
    ) -> Tensor:
        """As `Encoder.forward`, without gradients."""
        return super().forward(input_ids, token_type_ids, sequences, rows)


def prepared_for(precision: Precision, encoder: Encoder) -> Encoder:
    """Return the encoder to predict with: for "int8" one with weights of bytes, else the one given.

    Raises: ConfigError for int8 and an encoder that another library runs.
    """
    if precision == "int8" and isinstance(encoder, PaddedEncoder):
        raise ConfigError(
            f"precision 'int8' is of encoders that this package computes itself; {type(encoder.body).__name__} runs "
            "through transformers: use 'auto', 'bf16' or 'fp32'."
        )
    return Int8Encoder(encoder) if precision == "int8" else encoder


def check_prepared(encoder: Encoder, precision: Precision) -> None:
    """Raises: ConfigError where an encoder is asked for another precision than it was prepared for."""
    is_int8 = isinstance(encoder, Int8Encoder)
    if is_int8 and precision != "int8":
        raise ConfigError(f"this model was loaded with precision 'int8'; load it again to run it in {precision!r}.")
    if precision == "int8" and not is_int8:
        raise ConfigError("this model's weights are no bytes; name precision='int8' where it is loaded.")
