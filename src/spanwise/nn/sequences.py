"""The lengths and borders of the sequences of a packed batch.

Letters: T tokens in the pack, S sequences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from spanwise.runtime.seed import token_keys


@dataclass(frozen=True, kw_only=True)
class Sequences:
    """The borders of the S sequences that lie end to end in one pack of T tokens.

    `lengths` stays on the host (plain integers, so no kernel choice ever waits for a device);
    `cu_seqlens [S+1]` int32 and `positions [T]` int64 live on the device of the batch. Positions count from 0 in every
    sequence; some may be left out, as where a span was replaced by one token and what follows stayed where it was.
    """

    lengths: tuple[int, ...]
    cu_seqlens: Tensor
    positions: Tensor
    num_positions: int = 0  # one more than the largest position, where positions have gaps; 0: they have none
    keys: Tensor | None = None  # [T] int64, on the device: of each token's random draws; None: nothing was given
    seeds: tuple[int, ...] = ()  # the same of each sequence, on the host; () as None
    longest: int = 0  # what no sequence of any pack passes, where all packs have one shape; 0: each has its own

    # Packs of one shape have as many entries of `cu_seqlens` too: behind the last border it is repeated, which are
    # sequences without a token. `lengths` has none of them.

    @classmethod
    def from_lengths(cls, lengths: list[int] | tuple[int, ...] | np.ndarray) -> Sequences:
        """Build the borders and the positions 0..length-1 of every sequence."""
        lengths_S = np.asarray(lengths, dtype=np.int64)
        if lengths_S.ndim != 1 or (lengths_S < 1).any():
            raise ValueError(f"sequence lengths must be a flat list of integers above zero, got {lengths!r}")
        borders = np.zeros(len(lengths_S) + 1, dtype=np.int32)
        np.cumsum(lengths_S, out=borders[1:])
        positions = np.arange(int(borders[-1]), dtype=np.int64) - np.repeat(borders[:-1].astype(np.int64), lengths_S)
        return cls(
            lengths=tuple(int(n) for n in lengths_S),
            cu_seqlens=torch.from_numpy(borders),
            positions=torch.from_numpy(positions),
        )

    @property
    def num_tokens(self) -> int:
        return sum(self.lengths)

    @property
    def max_length(self) -> int:
        return self.longest or max(self.lengths, default=0)

    def keyed(self, keys: np.ndarray) -> Sequences:
        """These sequences with keys of random draws, given one a sequence: uint64 [S], 0 where nothing is read."""
        keys_T = torch.from_numpy(token_keys(keys, np.cumsum((0, *self.lengths))))
        return replace(self, keys=keys_T.to(self.cu_seqlens.device, non_blocking=True), seeds=tuple(keys.tolist()))

    def with_filler(self, num_tokens: int) -> Sequences:
        """These sequences and one of `num_tokens` more behind them, all at position 0."""
        return replace(
            self,
            lengths=(*self.lengths, num_tokens),
            longest=max(self.longest, num_tokens) if self.longest else 0,
            cu_seqlens=torch.cat((self.cu_seqlens, self.cu_seqlens[-1:] + num_tokens)),
            positions=torch.cat((self.positions, self.positions.new_zeros(num_tokens))),
            keys=None if self.keys is None else torch.cat((self.keys, self.keys.new_zeros(num_tokens))),
            seeds=(*self.seeds, 0) if self.seeds else (),
        )

    def to(self, device: torch.device | str) -> Sequences:
        return replace(
            self,
            cu_seqlens=self.cu_seqlens.to(device, non_blocking=True),
            positions=self.positions.to(device, non_blocking=True),
            keys=None if self.keys is None else self.keys.to(device, non_blocking=True),
        )
