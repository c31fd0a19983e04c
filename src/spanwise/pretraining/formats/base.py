"""How a store becomes training sequences: a table of blocks first, tokens only when a pack is made.

Letters: n blocks, S sequences of a pack, T tokens of a pack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from spanwise.data.token_store import TokenStore
from spanwise.pretraining.packs import Pack


@dataclass(frozen=True, kw_only=True)
class BlockTable:
    """Where the tokens of each of n blocks lie in the store; no tokens. The row is the block's id."""

    starts: np.ndarray  # [n] int64, global token offsets
    lengths: np.ndarray  # [n] int64, tokens of text: all that masking may hide
    num_special: int  # special tokens that `assemble` adds to each block
    num_tokens_dropped: int = 0
    num_tokens_repeated: int = 0

    @property
    def num_blocks(self) -> int:
        return len(self.starts)

    @property
    def packed_lengths(self) -> np.ndarray:
        """Tokens that each block takes in a pack, specials included, int64 [n]."""
        return self.lengths + self.num_special


class InputFormat(Protocol):
    """A recipe part: blocks are a pure function of (store, seed, epoch)."""

    gives: ClassVar[frozenset[str]]  # what objectives may ask of it: "pair_label"
    changes_with_epoch: ClassVar[bool]  # False: one table serves all epochs

    @property
    def max_length(self) -> int: ...

    def blocks(self, store: TokenStore, seed: int, epoch: int) -> BlockTable: ...

    def assemble(self, store: TokenStore, table: BlockTable, rows: np.ndarray) -> Pack: ...
