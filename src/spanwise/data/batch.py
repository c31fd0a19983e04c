"""The packed batch: the only thing that travels from the data side to a model.

Letters: T tokens in the pack, S sequences, N targets of one objective.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor

from spanwise.nn.sequences import Sequences

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One pack: S sequences end to end, and what each objective or task wants from them.

    `targets` maps an objective's name to its own frozen dataclass of tensors; `counts` maps the same name to the
    number of its targets, an integer known before any forward. The loop adds the counts of all packs of a step and
    divides each loss sum by the total, so packs with different counts weigh as one big batch would.
    """

    input_ids: Tensor  # [T] int64
    token_type_ids: Tensor  # [T] int64
    sequences: Sequences
    targets: Mapping[str, object] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    num_padding: int = 0  # filler tokens among the T
    ids: tuple[int, ...] = ()  # which blocks or windows these are, to name a bad batch
    sequence_ids: tuple[int, ...] = ()  # the same of each sequence, by which it draws at random; (): as `ids`
    is_usual: bool = True  # False where packs have one shape, and this one needs more than that

    @property
    def num_tokens(self) -> int:
        """Real tokens, filler not counted."""
        return self.sequences.num_tokens - self.num_padding

    def target(self, name: str, kind: type[T]) -> T:
        """Return the targets `name`, which must be of this class. Raises: TypeError where they are of another."""
        found = self.targets[name]
        if not isinstance(found, kind):
            raise TypeError(f"the targets {name!r} are {type(found).__name__}, not {kind.__name__}")
        return found

    def to(self, device: torch.device | str) -> Batch:
        """Move every tensor; a no-op where it already lies there."""
        return self.changed(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self) -> Batch:
        """Return the same in memory that a GPU reads by itself, so that `to` makes the host wait for nothing."""
        return self.changed(Tensor.pin_memory)

    def changed(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """Return the batch with every tensor replaced by what `change` makes of it."""
        return dataclasses.replace(
            self,
            input_ids=change(self.input_ids),
            token_type_ids=change(self.token_type_ids),
            sequences=change_tensors(self.sequences, change),
            targets={name: change_tensors(value, change) for name, value in self.targets.items()},
        )


def to_device(value: Any, device: torch.device | str) -> Any:
    """Move the tensors inside a frozen dataclass of targets, or a tuple of such; everything else stays."""
    return change_tensors(value, lambda tensor: tensor.to(device, non_blocking=True))


def change_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Replace the tensors inside a frozen dataclass, or a tuple of such; everything else stays."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple) and any(isinstance(item, Tensor) or dataclasses.is_dataclass(item) for item in value):
        return tuple(change_tensors(item, change) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {f.name: change_tensors(getattr(value, f.name), change) for f in dataclasses.fields(value) if f.init}
        return dataclasses.replace(value, **changes)
    return value
