"""Token classification head: K scores per token, for tagging.

Letters: T tokens in the pack, D hidden size, K labels.
Source: Devlin et al. 2019 (BERT), section 5.3; dropout, then one product, no conditional random field. ModernBERT's
class in Hugging Face for the rows of pre-norm encoders.
"""

from torch import Tensor, nn

from spanwise.nn.config import EncoderConfig
from spanwise.nn.dropout import dropout
from spanwise.nn.heads.kind import HeadKind, rows_of_out
from spanwise.nn.layer import gelu
from spanwise.nn.residual import LayerNorm
from spanwise.runtime.row_counts import apply_to_rows


class NormedRows(nn.Module):
    """Linear D -> D, GELU, LayerNorm: what heads of pre-norm encoders make of each row before their last product."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size, bias=config.head_bias)
        self.norm = LayerNorm(config.hidden_size, eps=config.norm_eps, bias=config.norm_bias)

    def forward(self, rows: Tensor) -> Tensor:
        """rows: [N, D]. Returns [N, D] float32."""
        return self.norm(gelu(apply_to_rows(self.dense, rows), "gelu"))


def normed_rows(config: EncoderConfig) -> NormedRows | None:
    """Return what a head's last product reads in place of the hidden states; None where it reads these."""
    return NormedRows(config) if config.norm_place == "pre" else None


class TokenClassificationHead(nn.Module):
    """Dropout, Linear D -> K; on a pre-norm encoder after another product and a norm."""

    def __init__(self, config: EncoderConfig, num_labels: int) -> None:
        super().__init__()
        self.dropout = config.hidden_dropout
        self.transform = normed_rows(config)
        self.out = nn.Linear(config.hidden_size, num_labels)

    def forward(self, hidden: Tensor) -> Tensor:
        """hidden: [T, D]. Returns [T, K] float32."""
        hidden = hidden if self.transform is None else self.transform(hidden)
        return apply_to_rows(self.out, dropout(hidden, self.dropout, self.training)).float()


HEAD_KINDS = (
    HeadKind(
        name="tagging",
        title="token classification",
        build=lambda encoder, size, form: TokenClassificationHead(encoder.config, size[0]),
        size_of=rows_of_out,
        is_labelled=True,
        names_labels=True,
    ),
)
