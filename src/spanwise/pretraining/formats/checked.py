"""What a format of a user's own returns, looked at before tokens are copied by it."""

from __future__ import annotations

import numpy as np

from spanwise.config.parts import is_ours
from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError
from spanwise.pretraining.formats.base import BlockTable, InputFormat
from spanwise.pretraining.packs import Pack


def table_of(format: InputFormat, store: TokenStore, seed: int, epoch: int) -> BlockTable:
    """Return the blocks of a format, checked where the format is not ours. Raises: ConfigError naming what is wrong."""
    table = format.blocks(store, seed, epoch)
    if is_ours(format):
        return table
    name = type(format).__name__
    if not isinstance(table, BlockTable):
        raise ConfigError(f"format {name}: blocks returned {type(table).__name__}; expected formats.base.BlockTable.")
    starts, lengths = table.text_ranges(np.arange(table.num_blocks))
    wrong = (starts < 0) | (lengths < 0) | (starts + lengths > store.num_tokens)
    if wrong.any():
        at = int(wrong.argmax())
        raise ConfigError(
            f"format {name}: blocks returned a range of {lengths[at]} tokens at {starts[at]}; the store has "
            f"{store.num_tokens:,} tokens."
        )
    longest = int(np.max(table.packed_lengths, initial=0))
    if longest > format.max_length:
        raise ConfigError(
            f"format {name}: blocks returned a sequence of {longest} tokens, special ones included; its max_length is "
            f"{format.max_length}. Cut longer ones."
        )
    return table


def pack_of(format: InputFormat, store: TokenStore, table: BlockTable, rows: np.ndarray) -> Pack:
    """Return the pack of the blocks `rows` [S]. Raises: ConfigError where a format that is not ours makes none."""
    pack = format.assemble(store, table, rows)
    if not is_ours(format) and not isinstance(pack, Pack):
        raise ConfigError(
            f"format {type(format).__name__}: assemble returned {type(pack).__name__}; expected "
            "spanwise.pretraining.packs.Pack."
        )
    return pack
