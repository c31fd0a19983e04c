"""The packed batch: the only thing that travels from the data side to a model.

Letters: T tokens in the pack, S sequences, N targets of one objective.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
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
        moved = {name: to_device(value, device) for name, value in self.targets.items()}
        return dataclasses.replace(
            self,
            input_ids=self.input_ids.to(device, non_blocking=True),
            token_type_ids=self.token_type_ids.to(device, non_blocking=True),
            sequences=self.sequences.to(device),
            targets=moved,
        )


def to_device(value: Any, device: torch.device | str) -> Any:
    """Move the tensors inside a frozen dataclass of targets, or a tuple of such; everything else stays."""
    if isinstance(value, Tensor):
        return value.to(device, non_blocking=True)
    if isinstance(value, tuple) and any(isinstance(item, Tensor) or dataclasses.is_dataclass(item) for item in value):
        return tuple(to_device(item, device) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {f.name: to_device(getattr(value, f.name), device) for f in dataclasses.fields(value) if f.init}
        return dataclasses.replace(value, **changes)
    return value
