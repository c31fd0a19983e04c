"""A checkpoint with more rows: for new tokens, and for positions beyond the old ones. Old rows stay bit for bit.

Source: Hewitt 2021 for rows at a mean of old ones, which move no probability far; Beltagy et al. 2020 (Longformer),
section 5, for repeated positions, which keep the neighbourhoods that attention has learned.
Letters: V vocabulary before, k new tokens, E width of the embedding tables.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import Checkpoint
from spanwise.nn.init import normal
from spanwise.text.extend import with_roles
from spanwise.text.tokenizers import Tokenizer

WORDS, POSITIONS = "embeddings.word.weight", "embeddings.position.weight"


def grow_vocabulary(
    checkpoint: Checkpoint,
    old_ids: Sequence[np.ndarray],
    *,
    rows: Literal["mean", "random"] = "mean",
    seed: int = 0,
    unk_id: int = -1,
) -> Checkpoint:
    """Return the checkpoint with k rows more in the word table and in the bias of every head that is tied to it.

    `old_ids` are the pieces that each new token had in the old vocabulary. With "mean" its row and its biases are their
    mean, [UNK] (`unk_id`) left out; a token of which nothing else is known, and every token with "random", starts like
    fresh weights: N(0, initializer_range), bias 0.
    Raises: CheckpointError for a piece that the checkpoint has no row for.
    """
    size = checkpoint.config.vocab_size
    known = [np.asarray(ids)[np.asarray(ids) != unk_id] if rows == "mean" else np.empty(0, int) for ids in old_ids]
    if any(len(ids) and (ids.min() < 0 or ids.max() >= size) for ids in known):
        raise CheckpointError(f"{checkpoint.folder} has {size:,} rows, its tokenizer gives ids beyond them.")
    table_VE = checkpoint.tensors[WORDS]
    fresh = _fresh(len(known), table_VE.shape[1], checkpoint, seed, WORDS)
    heads = {
        name: {
            part: _with_rows(tensor, known, torch.zeros(len(known))) if _is_tied_bias(part, tensor, size) else tensor
            for part, tensor in tensors.items()
        }
        for name, tensors in checkpoint.heads.items()
    }
    return replace(
        checkpoint,
        config=replace(checkpoint.config, vocab_size=size + len(known)),
        tensors={**checkpoint.tensors, WORDS: _with_rows(table_VE, known, fresh)},
        heads=heads,
    )


def with_rows_for(checkpoint: Checkpoint, num_ids: int, *, seed: int) -> Checkpoint:
    """Return the checkpoint with rows for `num_ids` ids: those that it lacks start like fresh weights."""
    num_rows = max(0, num_ids - checkpoint.config.vocab_size)
    nothing = [np.empty(0, dtype=int)] * num_rows
    return grow_vocabulary(checkpoint, nothing, rows="random", seed=seed) if num_rows else checkpoint


def with_roles_for(
    checkpoint: Checkpoint, tokenizer: Tokenizer, roles: Sequence[str], *, seed: int
) -> tuple[Checkpoint, Tokenizer, str]:
    """Return both with a piece for each role, and the new pieces with their ids for a person; "" where there are none.

    Raises: CheckpointError where a text may hold such a piece, or where ids have gaps.
    """
    missing = [role for role in roles if role not in tokenizer.roles]
    if not missing:
        return checkpoint, tokenizer, ""
    grown = with_roles(tokenizer, missing)
    named = ", ".join(f"{grown.specials[role]} (id {grown.roles[role]})" for role in missing)
    return with_rows_for(checkpoint, grown.vocab_size, seed=seed), grown, named


def grow_positions(
    checkpoint: Checkpoint, max_positions: int, *, rows: Literal["tile", "random"] = "tile", seed: int = 0
) -> Checkpoint:
    """Return the checkpoint with `max_positions` positions; "tile" repeats the old rows from the first on.

    Rows that are never looked up (RoBERTa's first two) are not repeated. "random" starts like fresh weights. Rotary
    positions have no rows, so only their number changes.
    Raises: ConfigError where there would not be more positions than before.
    """
    config = checkpoint.config
    old = config.max_positions
    if max_positions <= old:
        raise ConfigError(
            f"encoder.max_positions {max_positions} is not longer than the {old} positions of {checkpoint.folder}; "
            "raise it, or leave the positions as they are."
        )
    if not config.has_position_table:  # rotary positions have no rows
        return replace(checkpoint, config=replace(config, max_positions=max_positions))
    table_PE = checkpoint.tensors[POSITIONS]
    offset = table_PE.shape[0] - old
    if rows == "tile":
        new = table_PE[offset + torch.arange(old, max_positions) % old]
    else:
        new = _fresh(max_positions, table_PE.shape[1], checkpoint, seed, POSITIONS)[old:]
    return replace(
        checkpoint,
        config=replace(config, max_positions=max_positions),
        tensors={**checkpoint.tensors, POSITIONS: torch.cat([table_PE, new.to(table_PE.dtype)])},
    )


def _is_tied_bias(part: str, tensor: Tensor, size: int) -> bool:
    """Return whether a head's tensor has a number for each token; the bias of a pair classifier has two."""
    return part.rpartition(".")[2] == "bias" and tensor.shape == (size,)


def _with_rows(tensor: Tensor, old_ids: Sequence[np.ndarray], fresh: Tensor) -> Tensor:
    """Return the tensor with k rows more: means of old rows, or those of `fresh` where a token has none."""
    new = [tensor[torch.as_tensor(ids)].mean(0) if len(ids) else row for ids, row in zip(old_ids, fresh, strict=True)]
    return torch.cat([tensor, torch.stack(new).to(tensor.dtype)]) if new else tensor


def _fresh(count: int, width: int, checkpoint: Checkpoint, seed: int, name: str) -> Tensor:
    values = normal(seed, f"grown.{name}", count * width, checkpoint.config.initializer_range)
    return torch.from_numpy(values).view(count, width)
