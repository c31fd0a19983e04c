"""Scores of whole sequences: classification, and multiple choice with one score per sequence.

The systems agree on the last product and differ in what it reads; a form names that.

| form | reads | before the last product | who |
|---|---|---|---|
| pooled | first token | the encoder's pooler | BERT, ALBERT; multiple choice of RoBERTa |
| tanh | first token | Linear D -> D, tanh | RoBERTa |
| gelu | first token | Linear D -> D, GELU | ELECTRA |
| last | last token | nothing; no bias | GPT-1 |
| last_biased | last token | nothing | multiple choice of GPT-1 |
| normed | first token | Linear D -> D, GELU, LayerNorm | ModernBERT |
| normed_mean | mean of all tokens | Linear D -> D, GELU, LayerNorm | ModernBERT of another setting |

Letters: T tokens in the pack, S sequences, D hidden size, K scores a sequence.
Source: Devlin et al. 2019 (BERT), section 4; Liu et al. 2019 (RoBERTa), Clark et al. 2020 (ELECTRA), Radford et al.
2018 (GPT-1) and Warner et al. 2024 (ModernBERT) in the classes of Hugging Face.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.dropout import dropout
from spanwise.nn.heads.kind import HeadKind, SequenceForm, rows_of_out
from spanwise.nn.layer import gelu
from spanwise.nn.residual import LayerNorm
from spanwise.nn.sequences import Sequences

# Matrix products of fewer rows take other kernels, which round otherwise (measured: on one thread at all sizes, on two
# up to 768). In prediction a sequence's bits should not depend on how many others are asked for with it, so that every
# product has this many rows.
MIN_ROWS = 16


def score_by_parts(score_rows: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
    """Return what `score_rows` makes of rows [N, D], which is given `MIN_ROWS` of them at a time; zeros fill the last
    part up."""
    padded = F.pad(rows, (0, 0, 0, -len(rows) % MIN_ROWS))
    return torch.cat([score_rows(part) for part in padded.split(MIN_ROWS)])[: len(rows)]


class SequenceHead(nn.Module):
    """K scores a sequence: [T, D] -> [S, K].

    pooler: the encoder's, asked for by the form "pooled" alone. It stays the encoder's: counted, saved and decayed
    once, with the encoder.

    Raises: ConfigError for the form "pooled" without a pooler.
    """

    def __init__(
        self, config: EncoderConfig, num_scores: int, form: SequenceForm, pooler: nn.Module | None = None
    ) -> None:
        super().__init__()
        if form == "pooled" and pooler is None:
            raise ConfigError("this head reads the pooler and the encoder has none; set encoder.pooler to true.")
        self.form = form
        self.dropout = config.hidden_dropout
        self._pooler = (pooler,)  # a tuple hides it from nn.Module's registration
        D, has_norm = config.hidden_size, form.startswith("normed")
        has_dense = has_norm or form in ("tanh", "gelu")
        self.dense = nn.Linear(D, D, bias=config.head_bias) if has_dense else None
        self.norm = LayerNorm(D, eps=config.norm_eps, bias=config.norm_bias) if has_norm else None
        self.out = nn.Linear(D, num_scores, bias=form != "last")

    def forward(self, hidden: Tensor, sequences: Sequences) -> Tensor:
        """hidden: [T, D]. Returns [S, K] float32."""
        return self.score(self.read(hidden, sequences))

    def read(self, hidden: Tensor, sequences: Sequences) -> Tensor:
        """The row of each sequence that speaks for it: [T, D] -> [S, D]."""
        borders = sequences.cu_seqlens
        if self.form == "normed_mean":
            return torch.segment_reduce(hidden.float(), "mean", offsets=borders.long())
        return hidden.index_select(0, borders[1:] - 1 if self.form.startswith("last") else borders[:-1])

    def score(self, rows_SD: Tensor) -> Tensor:
        """Scores [S, K] float32 of such rows [S, D], or of sums of them (both orders of a pair)."""
        if self.training or not len(rows_SD):
            return self.score_rows(rows_SD)
        return score_by_parts(self.score_rows, rows_SD)

    def score_rows(self, rows_SD: Tensor) -> Tensor:
        """As `score`, in one product without rows of filler; the last bits of a score depend on how many there are."""
        (pooler,) = self._pooler
        if pooler is not None and self.form == "pooled":
            rows_SD = pooler(rows_SD)
        elif self.dense is not None and self.norm is not None:
            rows_SD = self.norm(gelu(self.dense(rows_SD), "gelu"))
        elif self.dense is not None:
            rows_SD = self.dense(dropout(rows_SD, self.dropout, self.training))
            rows_SD = torch.tanh(rows_SD) if self.form == "tanh" else gelu(rows_SD, "gelu")
        return self.out(dropout(rows_SD, self.dropout, self.training)).float()


HEAD_KINDS = (
    HeadKind(
        name="classification",
        title="sequence classification",
        build=lambda encoder, size, form: SequenceHead(encoder.config, size[0] if size else 1, form, encoder.pooler),
        size_of=rows_of_out,
        is_labelled=True,
        has_form=True,
        names_labels=True,
    ),
    HeadKind(
        name="multiple_choice",
        title="multiple choice",
        build=lambda encoder, size, form: SequenceHead(encoder.config, 1, form, encoder.pooler),
        is_labelled=True,
        has_form=True,
    ),
)
