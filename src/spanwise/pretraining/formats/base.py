"""How a store becomes training sequences: a table of blocks first, tokens only when a pack is made.

Letters: n blocks, S sequences of a pack, T tokens of a pack.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from spanwise.config import Part
from spanwise.data.token_store import TokenStore
from spanwise.pretraining.packs import Pack

NO_LABEL = -1
"""Stands in `pair_labels` for a block that the pair objective must leave alone."""


@dataclass(frozen=True, kw_only=True)
class BlockTable:
    """A table of where the tokens of each of n blocks lie in the store; the row is the block's id.

    The text of a block is one range of the store, or two (a pair). `lengths.sum() + second_lengths.sum()` is the
    store's number of tokens, less those dropped, plus those repeated.
    """

    starts: np.ndarray  # [n] int64, global token offsets of the (first) range
    lengths: np.ndarray  # [n] int64, its tokens
    num_special: int | np.ndarray  # special tokens that `assemble` adds to each block, or to all alike; [n] int64
    second_starts: np.ndarray | None = None  # [n] int64, of the second range
    second_lengths: np.ndarray | None = None  # [n] int64, its tokens; 0 where a block has one range alone
    pair_labels: np.ndarray | None = None  # [n] int64; what 0 and 1 mean is the format's; NO_LABEL: no target
    num_tokens_dropped: int = 0
    num_tokens_repeated: int = 0

    @property
    def num_blocks(self) -> int:
        return len(self.starts)

    @property
    def text_lengths(self) -> np.ndarray:
        """Tokens of text of each block, all that masking may hide, int64 [n]."""
        return self.lengths if self.second_lengths is None else self.lengths + self.second_lengths

    @property
    def packed_lengths(self) -> np.ndarray:
        """Tokens that each block takes in a pack, specials included, int64 [n]."""
        return self.text_lengths + self.num_special

    def packed_lengths_of(self, rows: np.ndarray) -> np.ndarray:
        """Return `packed_lengths[rows]`, int64, with one array in memory: an epoch's order asks for all blocks."""
        lengths = self.lengths[rows].astype(np.int64, copy=False)
        if self.second_lengths is not None:
            lengths += self.second_lengths[rows]
        lengths += self.num_special[rows] if isinstance(self.num_special, np.ndarray) else self.num_special
        return lengths

    def text_ranges(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the text of blocks `rows` [S] lies in the store, in the order of the pack.

        These are starts and lengths, int64 [S], or [2 S] where blocks have two ranges.
        """
        if self.second_starts is None or self.second_lengths is None:
            return self.starts[rows], self.lengths[rows]
        starts = np.stack([self.starts[rows], self.second_starts[rows]], axis=1)
        lengths = np.stack([self.lengths[rows], self.second_lengths[rows]], axis=1)
        return starts.reshape(-1), lengths.reshape(-1)


class InputFormat(Part, Protocol):
    """A recipe part: blocks are a pure function of (store, seed, epoch)."""

    gives: ClassVar[frozenset[str]]  # what objectives may ask of it, such as "pair_label"; see pretraining/needs.py
    changes_with_epoch: ClassVar[bool]  # False: one table serves all epochs

    @property
    def max_length(self) -> int: ...

    def blocks(self, store: TokenStore, seed: int, epoch: int) -> BlockTable: ...

    def assemble(self, store: TokenStore, table: BlockTable, rows: np.ndarray) -> Pack: ...
