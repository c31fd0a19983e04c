"""The pre-training model: one encoder, one head an objective, one loss sum a head.

Letters: T tokens in the pack, D hidden size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from spanwise.data.batch import Batch
from spanwise.nn.encoder import Encoder


class PretrainingModel(nn.Module):
    """Run the encoder once over a pack and let every objective read the hidden states.

    The heads tie their decoder to the encoder's word embedding, so parameters are counted and saved once.
    """

    def __init__(self, encoder: Encoder, heads: Mapping[str, nn.Module], loss_weights: Mapping[str, float]) -> None:
        super().__init__()
        self.encoder = encoder
        self.heads = nn.ModuleDict(dict(heads))
        self.loss_weights = dict(loss_weights)

    def hidden(self, batch: Batch) -> Tensor:
        """Hidden states `[T, D]` of the last layer."""
        return self.encoder(batch.input_ids, batch.token_type_ids, batch.sequences)

    def forward(self, batch: Batch) -> dict[str, Any]:
        """Return one loss sum a name; an objective without a target in this pack gives zero and still reaches its
        parameters."""
        hidden_TD = self.hidden(batch)
        return {name: head(hidden_TD, batch.targets[name]) for name, head in self.heads.items()}
