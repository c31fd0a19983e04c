"""The only place where numbers of several packs, and later of several processes, meet.

One process adds gradients by accumulation, in the order of the packs. Everything the loop shares (integer counts
before the first forward, gradients after the last backward, loss sums to report) passes through a `Reducer`, so that
a distributed one changes this seam and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from torch import Tensor


class Reducer(Protocol):
    """Adds up what belongs to one step."""

    def counts(self, packs: Sequence[Mapping[str, int]]) -> dict[str, int]: ...

    def gradients(self, gradients: Iterable[Tensor]) -> None: ...

    def sums(self, sums: Tensor) -> Tensor: ...


class SingleProcess:
    """All packs of a step are computed here, one after the other."""

    def counts(self, packs: Sequence[Mapping[str, int]]) -> dict[str, int]:
        """Targets of the whole step by name, known before any forward."""
        total: dict[str, int] = {}
        for pack in packs:
            for name, count in pack.items():
                total[name] = total.get(name, 0) + int(count)
        return total

    def gradients(self, gradients: Iterable[Tensor]) -> None:
        """Backward has accumulated them already."""

    def sums(self, sums: Tensor) -> Tensor:
        """Sums over the packs of this process are the step's."""
        return sums
