"""The seam between batch and encoder: what the encoder reads instead of the batch's own ids, or that it reads these.

Source: Devlin et al. 2019 (BERT), section 3.1 (symbols alone).
Letters: T tokens in the pack, S sequences, N hidden tokens.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from torch import Tensor, nn

from spanwise.config import Part, part
from spanwise.data.batch import Batch
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.pretraining.objectives.base import Corrupted, Objective
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import uniform

DRAWS = "sampling"
"""Key of `Batch.targets` under which a corruption that samples finds its random numbers."""


@dataclass(frozen=True, kw_only=True)
class Draws:
    """One random number for each of the N hidden tokens of a pack."""

    capacity: ClassVar[str] = "targets"
    label: ClassVar[str] = ""  # that of the hidden tokens says which are dead

    uniform: Tensor  # [N] float64 in [0, 1)

    @property
    def count(self) -> int:
        return self.uniform.shape[0]


class Corruption(Part, Protocol):
    """A recipe part. The module that `build` makes is called as `module(batch)` and returns
    `objectives.base.Corrupted`."""

    gives: ClassVar[frozenset[str]]  # what objectives may ask of it, such as "replacements"; see pretraining/needs.py
    samples: ClassVar[bool]  # whether it asks for `Draws`

    @property
    def objectives(self) -> Mapping[str, Objective]:
        """The objectives that it learns itself, by name; their targets come with the batch."""
        ...

    def check(self, encoder: EncoderConfig) -> None:
        """Refuse an encoder that it does not go with. Raises: ConfigError."""
        ...

    def build(self, encoder: Encoder) -> nn.Module: ...


@njit
def draws_for(borders, position_N, sequence_N, keys_S):
    """Return a number in [0, 1) for each hidden token, float64 [N]; counters are places inside a sequence, so
    batch-mates change nothing."""
    uniform_N = np.empty(len(position_N), dtype=np.float64)
    for i in range(len(position_N)):
        s = sequence_N[i]
        uniform_N[i] = uniform(keys_S[s], position_N[i] - borders[s])
    return uniform_N


class Unchanged(nn.Module):
    """Hands the batch on as it is."""

    def forward(self, batch: Batch) -> Corrupted:
        return Corrupted(input_ids=batch.input_ids)


@part("symbols")
class Symbols:
    """The symbols of the replacement are all there is (every system but ELECTRA)."""

    gives: ClassVar[frozenset[str]] = frozenset()
    samples: ClassVar[bool] = False

    @property
    def objectives(self) -> Mapping[str, Objective]:
        return {}

    def check(self, encoder: EncoderConfig) -> None:
        """Every encoder will do."""

    def build(self, encoder: Encoder) -> Unchanged:
        return Unchanged()
