"""Head about two segments: does the second follow the first (BERT), or do they stand in their order (ALBERT)?

Letters: N sequences, D hidden size.
Source: Devlin et al. 2019 (BERT), section 3.1; Lan et al. 2020 (ALBERT), section 3.1.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.nn.config import EncoderConfig
from spanwise.nn.heads.kind import HeadKind


class PairHead(nn.Module):
    """Two scores from the encoder's pooler: weight [2, D], bias [2]. The pooler stays the encoder's."""

    def __init__(self, config: EncoderConfig, pooler: nn.Module | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2, config.hidden_size))
        self.bias = nn.Parameter(torch.zeros(2))
        self._pooler = (pooler,)  # a tuple hides it from nn.Module's registration

    def forward(self, first_ND: Tensor) -> Tensor:
        """Score the first tokens of N sequences: [N, D] hidden states in, [N, 2] float32 out."""
        (pooler,) = self._pooler
        assert pooler is not None  # whoever asks for scores has built the head on an encoder with a pooler
        return F.linear(pooler(first_ND), self.weight, self.bias).float()


HEAD_KINDS = (
    HeadKind(
        name="nsp", title="next sentence", build=lambda encoder, size, form: PairHead(encoder.config, encoder.pooler)
    ),
    HeadKind(
        name="sop", title="sentence order", build=lambda encoder, size, form: PairHead(encoder.config, encoder.pooler)
    ),
)
