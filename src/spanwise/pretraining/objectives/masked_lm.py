"""Masked language modelling: guess what stood at every hidden token, the unchanged ones included.

Source: Devlin et al. 2019 (BERT), section 3.1.
Letters: T tokens in the pack, D hidden size, N hidden tokens.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.config import part
from spanwise.config.ranges import Weight
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.lm import MaskedLMHead
from spanwise.nn.sampling import Sampling
from spanwise.nn.vocabulary_loss import DEAD, VocabularyLoss, vocabulary_loss
from spanwise.pretraining.objectives.base import PlaceTargets
from spanwise.pretraining.packs import Hidden, Pack, Spans


@dataclass(frozen=True, kw_only=True)
class MaskedLMTargets(PlaceTargets):
    """The N hidden tokens of a pack in order of position."""

    capacity: ClassVar[str] = "targets"
    label: ClassVar[str] = "ids"

    ids: Tensor  # [N] int64, what stood there; any id is legal, 0 too

    def written(self, ids: Tensor, input_ids: Tensor) -> Tensor:
        """Return input_ids [T] with ids [N] int64 at the hidden places; those of dead targets are written nowhere."""
        behind = len(input_ids)
        places_N = self.positions.masked_fill(self.ids == DEAD, behind)
        return F.pad(input_ids, (0, 1)).scatter(0, places_N, ids)[:behind]


class MaskedLMScorer(MaskedLMHead):
    """The head with its loss; parameters are those of `MaskedLMHead`."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder.config, encoder.word_embedding)
        self.vocab_size = encoder.config.vocab_size

    def forward(
        self, hidden: Tensor, targets: MaskedLMTargets, per_row: bool = False, sampling: Sampling | None = None
    ) -> VocabularyLoss:
        """Return the loss summed over the N targets; hidden [T, D]. `per_row` adds the N single losses, `sampling` an
        id drawn for each."""
        rows_ND = self.transform(hidden.index_select(0, targets.positions))
        return vocabulary_loss(
            rows_ND, self.weight, self.bias, targets.ids, self.vocab_size, per_row=per_row, sampling=sampling
        )


@part("masked_lm")
class MaskedLM:
    """Cross-entropy of every hidden token, read at its own place."""

    name: ClassVar[str] = "mlm"
    needs: ClassVar[frozenset[str]] = frozenset({"spans", "bidirectional"})

    weight: Weight = 1.0

    def targets(self, pack: Pack, spans: Spans, hidden: Hidden) -> MaskedLMTargets:
        return MaskedLMTargets(positions=torch.from_numpy(hidden.position), ids=torch.from_numpy(hidden.original_ids))

    def build(self, encoder: Encoder) -> MaskedLMScorer:
        """Return the head, its decoder tied to the encoder's word embedding."""
        return MaskedLMScorer(encoder)
