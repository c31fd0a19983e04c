"""The layout that all formats of two segments share, [CLS] A [SEP] B [SEP], and their checks.

Letters: n blocks, S sequences of a pack.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from spanwise.config.ranges import Length, Share
from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.formats.pieces import Frame, assemble, pairs_as_pieces
from spanwise.pretraining.packs import Pack
from spanwise.runtime.seed import derive_key


@dataclass(frozen=True, kw_only=True)
class TwoSegments:
    """Base of the formats of two segments; a part adds its own fields and `blocks`."""

    changes_with_epoch: ClassVar[bool] = True

    max_length: Length = 512  # tokens of a sequence, all special tokens included
    short_sequence_share: Share = 0.0  # how often a shorter length is aimed at
    num_separators: Literal[1, 2] = 1  # between the segments; RoBERTa has two
    num_token_types: Literal[1, 2] = 2  # 2: the second segment has token type 1; RoBERTa has one type

    def __post_init__(self) -> None:
        least = 4 + self.num_separators
        if self.max_length < least:
            raise ConfigError(
                f"format.max_length must be at least {least} ([CLS], two tokens and their separators), got "
                f"{self.max_length}."
            )

    @property
    def room(self) -> int:
        """Tokens of text that a sequence of two segments holds."""
        return self.max_length - 2 - self.num_separators

    def keys(self, seed: int, epoch: int, purpose: str) -> tuple[np.uint64, np.uint64]:
        """Return the keys that an epoch's blocks are drawn by: those of `purpose`, and those of short sequences."""
        return np.uint64(derive_key(seed, purpose, epoch)), np.uint64(derive_key(seed, "short sequences", epoch))

    def table(self, columns: np.ndarray, num_dropped: int = 0, num_repeated: int = 0) -> BlockTable:
        """Return the blocks that a loop wrote down: starts and lengths of both segments and, as the fifth of the
        `columns` int64 [4 or 5, n], labels."""
        starts_n, lengths_n, second_starts_n, second_lengths_n, *labels = columns
        return BlockTable(
            starts=starts_n,
            lengths=lengths_n,
            second_starts=second_starts_n,
            second_lengths=second_lengths_n,
            pair_labels=labels[0] if labels else None,
            num_special=2 + self.num_separators * (second_lengths_n > 0),
            num_tokens_dropped=num_dropped,
            num_tokens_repeated=num_repeated,
        )

    def assemble(self, store: TokenStore, table: BlockTable, rows: np.ndarray) -> Pack:
        """Return the blocks `rows` [S] of the table as one pack; a block without a second segment is [CLS] A [SEP]."""
        rows_S = np.ascontiguousarray(rows, dtype=np.int64)
        labels_S = None if table.pair_labels is None else table.pair_labels[rows_S]
        frame = Frame(num_between=self.num_separators, num_token_types=self.num_token_types)
        return assemble(store, pairs_as_pieces(table, rows_S), rows_S, frame, labels_S)
