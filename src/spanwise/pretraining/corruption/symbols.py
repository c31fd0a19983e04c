"""No corruption beside the masking: the encoder reads [MASK], random and unchanged tokens as the batch has them.

Source: Devlin et al. 2019 (BERT), section 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from torch import nn

from spanwise.config import part
from spanwise.data.batch import Batch
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.pretraining.objectives.base import Corrupted, Objective


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
