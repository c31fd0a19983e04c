"""Replaced token detection head: one score per token, above zero where a generator put it there.

Letters: T tokens in the pack, D hidden size.
Source: Clark et al. 2020 (ELECTRA), section 2; Linear D -> D, GELU, Linear D -> 1, as in the released code.
"""

from torch import Tensor, nn

from spanwise.nn.config import EncoderConfig
from spanwise.nn.heads.kind import HeadKind
from spanwise.nn.layer import gelu
from spanwise.runtime.row_counts import with_filler


class ReplacedTokenHead(nn.Module):
    """[T, D] -> [T]: the log-odds that each token was replaced."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.activation = config.activation
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.out = nn.Linear(config.hidden_size, 1)

    def forward(self, hidden: Tensor) -> Tensor:
        """hidden: [T, D]. Returns [T] float32."""
        scores_T1 = self.out(gelu(self.dense(with_filler(hidden)), self.activation))
        return scores_T1[: hidden.shape[0]].squeeze(-1).float()


HEAD_KINDS = (
    HeadKind(
        name="rtd",
        title="replaced token detection",
        build=lambda encoder, size, form: ReplacedTokenHead(encoder.config),
    ),
)
