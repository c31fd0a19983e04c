"""Token classification head: K scores a token, for tagging.

Letters: T tokens in the pack, D hidden size, K labels.
Source: Devlin et al. 2019 (BERT), section 5.3; dropout, then one product, no conditional random field.
"""

from __future__ import annotations

from torch import Tensor, nn

from spanwise.nn.config import EncoderConfig
from spanwise.nn.dropout import dropout
from spanwise.nn.heads.kind import HeadKind, rows_of
from spanwise.runtime.row_counts import apply_to_rows


class TokenClassificationHead(nn.Module):
    """Dropout, Linear D -> K."""

    def __init__(self, config: EncoderConfig, num_labels: int) -> None:
        super().__init__()
        self.dropout = config.hidden_dropout
        self.out = nn.Linear(config.hidden_size, num_labels)

    def forward(self, hidden: Tensor) -> Tensor:
        """hidden: [T, D]. Returns [T, K] float32."""
        return apply_to_rows(self.out, dropout(hidden, self.dropout, self.training)).float()


HEAD_KINDS = (
    HeadKind(
        name="tagging",
        title="token classification",
        build=lambda encoder, size, form: TokenClassificationHead(encoder.config, size[0]),
        size_of=rows_of("out.weight"),
        is_labelled=True,
        names_labels=True,
    ),
)
