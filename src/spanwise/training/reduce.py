"""The only place where numbers of several packs, and of several processes, meet.

One process adds gradients by accumulation, in the order of the packs. Of several processes each computes its share of
a step's packs (pack k by process k modulo their number), and everything the loop shares passes through a `Reducer`:
integer counts before the first forward, gradients after the last backward, what is reported, and decisions that
depend on a clock or a signal. Dropout is keyed by (seed, step, sequence, token), and what draws without keys follows
the pack's place in the step, so the number of processes changes rounding and nothing else.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from spanwise.errors import DataError
from spanwise.runtime.processes.distributed import Group

T = TypeVar("T")


class Reducer(Protocol):
    """Adds up what belongs to one step. Every process calls the same methods in the same order."""

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    def number_in_step(self, k: int) -> int:
        """The number, within the whole step, of the k-th pack computed here."""
        ...

    def counts(self, packs: Sequence[Mapping[str, int]]) -> dict[str, int]:
        """Targets of the whole step by name, known before any forward. Raises: DataError where it has no pack."""
        ...

    def gradients(self, parameters: Sequence[Tensor]) -> None:
        """Make every parameter's gradient that of the whole step."""
        ...

    def total(self, number: Tensor) -> Tensor:
        """Return the sum of the numbers that each process gives, where they are computed."""
        ...

    def add(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all processes."""
        ...

    def largest(self, tensor: Tensor) -> None:
        """Replace each number of a tensor by the largest that any process has in its place."""
        ...

    def gather(self, mine: T) -> list[T]:
        """Return the value that each process gives, by rank."""
        ...

    def any(self, mine: bool) -> bool:
        """Return True where one process at least gives True."""
        ...

    def from_leader(self, mine: T) -> T:
        """Return the value that the leader gives."""
        ...


class SingleProcess:
    """All packs of a step are computed here, one after the other."""

    rank, size = 0, 1

    def number_in_step(self, k: int) -> int:
        return k

    def counts(self, packs: Sequence[Mapping[str, int]]) -> dict[str, int]:
        return _total(packs)

    def gradients(self, parameters: Sequence[Tensor]) -> None:
        """Backward has accumulated them already."""

    def total(self, number: Tensor) -> Tensor:
        return number

    def add(self, tensors: Sequence[Tensor]) -> None:
        """They are sums over all processes already."""

    def largest(self, tensor: Tensor) -> None:
        """No other process has any."""

    def gather(self, mine: T) -> list[T]:
        return [mine]

    def any(self, mine: bool) -> bool:
        return mine

    def from_leader(self, mine: T) -> T:
        return mine


class SeveralProcesses:
    """The packs of a step are dealt out to the processes of a group."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self.rank, self.size = group.world.rank, group.world.size

    def number_in_step(self, k: int) -> int:
        return self.rank + k * self.size

    def counts(self, packs: Sequence[Mapping[str, int]]) -> dict[str, int]:
        everyone = self._group.gather((len(packs), _total(packs)))
        if not any(number for number, _ in everyone):
            raise DataError("a step has no pack; the data source is empty.")
        return _total([counts for _, counts in everyone])

    def gradients(self, parameters: Sequence[Tensor]) -> None:
        """A parameter that no process has reached keeps no gradient; one that another has reached counts as zero here
        (a process without a pack)."""
        everyone = self._group.gather([parameter.grad is not None for parameter in parameters])
        reached = [parameter for place, parameter in enumerate(parameters) if any(one[place] for one in everyone)]
        for parameter in reached:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        self._group.add([parameter.grad for parameter in reached if parameter.grad is not None])

    def total(self, number: Tensor) -> Tensor:
        self._group.add([number])
        return number

    def add(self, tensors: Sequence[Tensor]) -> None:
        self._group.add(tensors)

    def largest(self, tensor: Tensor) -> None:
        self._group.largest(tensor)

    def gather(self, mine: T) -> list[T]:
        return self._group.gather(mine)

    def any(self, mine: bool) -> bool:
        return any(self._group.gather(mine))

    def from_leader(self, mine: T) -> T:
        return self._group.gather(mine if self.rank == 0 else None)[0]  # type: ignore[return-value]


def _total(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in counts:
        for name, count in one.items():
            total[name] = total.get(name, 0) + int(count)
    return total
