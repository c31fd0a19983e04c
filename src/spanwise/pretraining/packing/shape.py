"""The shape that all packs of a run are given, so that they can be compiled: reckoned from what its first packs hold.

Tokens, sequences and hidden tokens follow from what closes a pack. What is left where a replacement shortens, and what
else differs from pack to pack, is measured, and gets three deviations of room beyond the mean. A pack that needs more
than that has more, and is no usual one (`Batch.is_usual`): it is not compiled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from spanwise.pretraining.objectives.base import Capacities

ROW_MULTIPLE = 64
"""Tokens of a batch are a multiple of this. oneDNN compiles a matrix product for every number of rows that it is asked
for, and packs of a few thousand tokens all differ; a last sequence of fewer than 64 [PAD] makes them alike."""
TRIED_PACKS = 32
DEVIATIONS = 3
FEW_POINTERS = 32  # of a sequence, doubled where the tried packs have more

Sizes = Mapping[str, int]  # what a pack needs of each field of `Capacities`


@dataclass(frozen=True)
class PackShape:
    """What closes a pack, and what the tried packs need, each as if it had been full.

    `tokens` count before a replacement shortens anything (`shortens`), `sequences` without those of filler. `targets`
    is None where packs close at no number of hidden tokens.
    """

    tokens: int
    sequences: int
    targets: int | None
    longest: int
    shortens: bool
    tried: Mapping[str, tuple[float, ...]]

    def capacities(self, share: float = 1.0) -> Capacities:
        """Return the shape of packs that hold `share` times as much: several packs joined, or parts of one."""
        tokens = _rounded(share * self.tokens, ROW_MULTIPLE)
        sequences = math.ceil(max(1.0, share) * max(self.sequences, self._most("sequences")))
        targets = self._room("targets", share, ROW_MULTIPLE)
        if self.targets is not None:
            most = doubled(self.targets, self._most("targets"))
            targets = min(
                max(1, math.ceil(share)) * most, _rounded(share * most, ROW_MULTIPLE) + ROW_MULTIPLE * (share < 1)
            )
        return Capacities(
            tokens=min(tokens, self._room("tokens", share, ROW_MULTIPLE)) if self.shortens else tokens,
            most_tokens=tokens,
            sequences=sequences + math.ceil(tokens / self.longest),
            targets=targets,
            longest=self.longest,
            pointers=self._room("pointers", share, ROW_MULTIPLE),
            pointing=min(sequences, self._room("pointing", share, 8)),
            pointers_of_one=doubled(FEW_POINTERS, self._most("pointers_of_one")),
        )

    def _room(self, name: str, share: float, multiple: int) -> int:
        """The mean of some packs is itself off by their deviation over the root of their number."""
        values = self.tried.get(name, (0.0,))
        deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        asked = share * float(np.mean(values)) + DEVIATIONS * deviation * math.sqrt(share + share**2 / len(values))
        return max(multiple, _rounded(asked, multiple))

    def _most(self, name: str) -> int:
        return math.ceil(max(self.tried.get(name, (0.0,))))


def tried_sizes(
    sizes: Sequence[Sizes], fill: Sequence[float], *, as_they_are: Sequence[str] = ()
) -> dict[str, tuple[float, ...]]:
    """Return what some packs need of each capacity, as if each had been full, by the share `fill` that each was filled
    to; those of less than half are left out where there are others. Some sizes don't grow with a pack."""
    full = [number for number, share in enumerate(fill) if share >= 0.5] or list(range(len(fill)))
    whole = ("pointers_of_one", *as_they_are)
    return {
        name: tuple(sizes[number][name] / (1.0 if name in whole else fill[number]) for number in full)
        for name in sizes[0]
    }


def grown(capacities: Capacities, sizes: Sizes) -> Capacities:
    """Return capacities that have room for a pack: tokens as before anything was replaced, others doubled as often as
    it needs."""
    changes = {}
    for name, size in sizes.items():
        given = getattr(capacities, name)
        if size > given:
            changes[name] = capacities.most_tokens if name == "tokens" else doubled(given, size)
    return replace(capacities, **changes) if changes else capacities


def doubled(capacity: int, size: int) -> int:
    """Return a capacity of 1 or more, doubled until it holds `size`."""
    while capacity < size:
        capacity *= 2
    return capacity


def _rounded(number: float, multiple: int) -> int:
    return multiple * math.ceil(number / multiple)
