"""Rows that are made chunk by chunk, from the last chunk to the first or the other way."""

import torch
from torch import Tensor

CHUNKS_OF_A_GPU = 32


def at_once(size: int, device: torch.device) -> int:
    """Return how many rows a chunk has: `size`, for the caches of a processor; more where starting work costs more."""
    return size if device.type == "cpu" else CHUNKS_OF_A_GPU * size


class Rows:
    """Takes chunks of rows in order (`backwards`: the last first); `joined` gives them all from first to last.

    Without gradients they go straight into their place: no second copy is ever held, and no small tensor that is kept
    stands between large ones that are freed.
    """

    def __init__(self, num_rows: int, *, backwards: bool = False) -> None:
        self._num_rows, self._filled, self._backwards = num_rows, 0, backwards
        self._parts: list[Tensor] = []

    def add(self, part: Tensor) -> None:
        if torch.is_grad_enabled():
            self._parts.append(part)
            return
        if not self._parts:
            self._parts.append(part.new_empty((self._num_rows, *part.shape[1:])))
        begin = self._num_rows - self._filled - len(part) if self._backwards else self._filled
        self._parts[0][begin : begin + len(part)] = part
        self._filled += len(part)

    def joined(self) -> Tensor:
        """At least one chunk was added."""
        if not torch.is_grad_enabled():
            return self._parts[0]
        return torch.cat(self._parts[::-1] if self._backwards else self._parts)


def rows_at(table: Tensor, index: Tensor) -> Tensor:
    """`table[index]`, rows of a table, copied whole: several times faster than indexing, backwards too."""
    return table.index_select(0, index.flatten()).view(*index.shape, table.shape[1])
