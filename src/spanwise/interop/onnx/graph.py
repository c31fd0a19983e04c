"""What an ONNX file takes and gives, by name, and what the package itself computes from the same inputs.

Letters: B sequences, L their padded length, T real tokens of a batch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from torch import Tensor, nn

Arrays = dict[str, np.ndarray]
Ours = Callable[[Mapping[str, Tensor]], dict[str, Tensor]]


@dataclass(frozen=True, kw_only=True)
class Port:
    """An input or an output: its name, what each axis counts (a number where it is fixed), and what it means."""

    name: str
    axes: tuple[str | int, ...]
    meaning: str
    type: Literal["int64", "float32"] = "int64"

    def as_json(self) -> dict[str, object]:
        """Return the entry of spanwise.json."""
        return {"name": self.name, "type": self.type, "shape": list(self.axes), "meaning": self.meaning}


@dataclass(frozen=True, kw_only=True)
class Graph:
    """One file: `module` called with the inputs in order gives the outputs in order.

    trial: draws inputs to compare with, from a seed and how many sequences of which length. ours: the outputs that the
    package computes from these, by its own path; where an entry is not a number (padding), it is not compared.
    encoder_scope: the submodule whose products become products of bytes in int8; None: none of them.
    """

    name: str
    module: nn.Module
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    trial: Callable[[int, int, int], dict[str, Tensor]]
    ours: Ours
    encoder_scope: str | None = None
