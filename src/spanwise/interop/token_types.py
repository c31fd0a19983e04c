"""The second token type of a checkpoint that never saw it.

Pre-training on single segments (SpanBERT) leaves row 1 of the table where it started, only decayed; fine-tuning on
pairs then begins from noise there.
"""

from dataclasses import replace
from typing import Literal

import torch

from spanwise.errors import ConfigError
from spanwise.interop.checkpoint import Checkpoint

TABLE = "embeddings.token_type.weight"


def second_token_type(checkpoint: Checkpoint, rows: Literal["first", "zeros"]) -> Checkpoint:
    """Return the checkpoint with every token type but the first set to a copy of it, or to zeros.

    Raises: ConfigError where the encoder has one token type or none.
    """
    names = [name for name in checkpoint.tensors if name == TABLE or name.endswith("token_type_embeddings.weight")]
    if checkpoint.config.num_token_types < 2 or not names:
        raise ConfigError(
            f"second_token_type={rows} asks for a second token type, and the encoder of {checkpoint.folder} has "
            f"{checkpoint.config.num_token_types}; leave it at 'as_is'."
        )
    first_1E, others_KE = checkpoint.tensors[names[0]].split([1, checkpoint.config.num_token_types - 1])
    new_KE = first_1E.expand_as(others_KE) if rows == "first" else torch.zeros_like(others_KE)
    return replace(checkpoint, tensors={**checkpoint.tensors, names[0]: torch.cat([first_1E, new_KE])})
