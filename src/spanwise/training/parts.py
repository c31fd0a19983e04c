"""The tensors of a checkpoint on disk: one file, or one by each process that keeps some rows of large parameters.

Rows lie in the order of the files, so that any number of processes, or one alone, reads the rows that it keeps.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from spanwise.errors import CheckpointError

_NAMES = re.compile(r"optimizer(?:-(\d{5})-of-(\d{5}))?\.safetensors")


def part_name(part: int, num_parts: int) -> str:
    """The file of the `part`-th of so many processes, counted from 0."""
    return "optimizer.safetensors" if num_parts == 1 else f"optimizer-{part + 1:05}-of-{num_parts:05}.safetensors"


class SavedTensors:
    """The tensors of a folder `training/`, read as they are asked for.

    Raises: CheckpointError naming a file that cannot be read, or the folder where one is missing.
    """

    def __init__(self, folder: Path) -> None:
        found = [match for path in sorted(folder.glob("optimizer*")) if (match := _NAMES.fullmatch(path.name))]
        if not found or any(match.group() != part_name(place, len(found)) for place, match in enumerate(found)):
            listed = ", ".join(match.group() for match in found) or "none"
            raise CheckpointError(f"{folder} lacks files of tensors; found: {listed}. Take another checkpoint.")
        self._slices: dict[str, list[Any]] = {}  # of each tensor, in the order of its rows
        for match in found:
            path = folder / match.group()
            try:
                file = safe_open(path, framework="pt")
                for name in file.keys():  # noqa: SIM118
                    self._slices.setdefault(name, []).append((file, file.get_slice(name).get_shape()))
            except (SafetensorError, OSError) as cause:
                raise CheckpointError(f"{path} cannot be read: {cause}.") from cause

    @property
    def names(self) -> set[str]:
        return set(self._slices)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a whole tensor."""
        shapes = [shape for _, shape in self._slices[name]]
        return (sum(shape[0] for shape in shapes), *shapes[0][1:]) if shapes[0] else ()

    def rows(self, name: str, first: int = 0, num: int | None = None) -> Tensor:
        """Return `num` rows of a tensor from row `first` on, in memory of their own; by default all of it."""
        if not self.shape(name):
            return self._slices[name][0][0].get_tensor(name).clone()
        last = self.shape(name)[0] if num is None else first + num
        begin = 0
        found: list[Tensor] = []
        for file, (size, *_) in self._slices[name]:
            low = min(max(first - begin, 0), size)
            high = min(max(last - begin, low), size)
            begin += size
            if low < high or (begin >= last and not found):
                found.append(file.get_slice(name)[low:high].clone())
        return torch.cat(found) if len(found) > 1 else found[0]
