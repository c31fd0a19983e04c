"""Token types that a checkpoint never saw: the second one, and those that a task adds.

Pre-training on single segments (SpanBERT) leaves row 1 of the table where it started, only decayed; fine-tuning on
pairs then begins from noise there.
"""

from collections.abc import Sequence
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
    name = _table_of(checkpoint)
    if checkpoint.config.num_token_types < 2 or name is None:
        raise ConfigError(
            f"second_token_type={rows} asks for a second token type, and the encoder of {checkpoint.folder} has "
            f"{checkpoint.config.num_token_types}; leave it at 'as_is'."
        )
    first_1E, others_KE = checkpoint.tensors[name].split([1, checkpoint.config.num_token_types - 1])
    new_KE = first_1E.expand_as(others_KE) if rows == "first" else torch.zeros_like(others_KE)
    return replace(checkpoint, tensors={**checkpoint.tensors, name: torch.cat([first_1E, new_KE])})


def with_token_types(checkpoint: Checkpoint, parents: Sequence[int]) -> Checkpoint:
    """Return the checkpoint with a token type more for each of `parents`, the row that the new one begins as.

    An encoder without token types gets a first one too; all of its rows are zeros and so change nothing yet.
    Raises: ConfigError for an encoder without token types that transformers runs.
    """
    if not parents:
        return checkpoint
    name = _table_of(checkpoint)
    if name is None and checkpoint.their_settings is not None:
        raise ConfigError(
            f"the encoder of {checkpoint.folder} has no token types, and transformers runs it, so it gets none; for "
            "questions leave task.shared_words at 'unmarked'."
        )
    if name is None:
        name, table_KE = TABLE, torch.zeros(1, checkpoint.config.embedding_width)
    else:
        table_KE = checkpoint.tensors[name]
    table_KE = torch.cat([table_KE, table_KE[list(parents)]])
    config = replace(checkpoint.config, num_token_types=len(table_KE))
    return replace(checkpoint, config=config, tensors={**checkpoint.tensors, name: table_KE})


def _table_of(checkpoint: Checkpoint) -> str | None:
    """Return the name of the checkpoint's table of token types; None where it has none."""
    names = (name for name in checkpoint.tensors if name == TABLE or name.endswith("token_type_embeddings.weight"))
    return next(names, None)
