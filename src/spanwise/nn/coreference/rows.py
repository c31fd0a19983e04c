"""Rows that are made chunk by chunk, below one another."""

from __future__ import annotations

import torch
from torch import Tensor


class Rows:
    """Takes chunks of rows in order; `joined` gives them all.

    Without gradients they go straight into their place: no second copy is ever held, and no small tensor that is kept
    stands between large ones that are freed.
    """

    def __init__(self, num_rows: int) -> None:
        self._num_rows, self._filled = num_rows, 0
        self._parts: list[Tensor] = []

    def add(self, part: Tensor) -> None:
        if torch.is_grad_enabled():
            self._parts.append(part)
            return
        if not self._parts:
            self._parts.append(part.new_empty((self._num_rows, *part.shape[1:])))
        self._parts[0][self._filled : self._filled + len(part)] = part
        self._filled += len(part)

    def joined(self) -> Tensor:
        """At least one chunk was added."""
        return torch.cat(self._parts) if torch.is_grad_enabled() else self._parts[0]
