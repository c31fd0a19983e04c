"""Question-aware span selection head: a question token chooses the first and the last token of its answer.

| of | start | end |
|---|---|---|
| a question's row | `query_start`, then the form `start` | `query_end`, then the form `end` |
| a token's row | `token_start` | `token_end` |

The four transforms are Linear D -> D, GELU, LayerNorm; a form is a matrix D x D without a bias. A token's score is the
product of its row with the question's, so the head has weights for no vocabulary, number of labels or length.

Letters: P questions (pointers), N candidates of all of them, T tokens in the pack, D hidden size.
Source: Ram et al. 2021 (Splinter), section 4.2; the epsilon of the norms (1e-5) and the error-function GELU, whatever
the encoder has, are those of `SplinterForPreTraining` of Hugging Face.
"""

import torch
from torch import Tensor, nn

from spanwise.nn.config import EncoderConfig
from spanwise.nn.heads.kind import HeadKind
from spanwise.nn.heads.sequence import MIN_ROWS
from spanwise.nn.layer import gelu
from spanwise.nn.losses.padded_pointers import PaddedPointers
from spanwise.nn.losses.pointer import ManyPointers
from spanwise.nn.residual import LayerNorm
from spanwise.nn.sequences import Sequences
from spanwise.runtime.row_counts import apply_to_rows

NORM_EPS = 1e-5


class SelectionTransform(nn.Module):
    """Linear D -> D, GELU, LayerNorm: what one side of a product reads of each row."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.norm = LayerNorm(config.hidden_size, eps=NORM_EPS)

    def forward(self, rows: Tensor) -> Tensor:
        """rows: [N, D]. Returns [N, D] float32."""
        return self.norm(gelu(apply_to_rows(self.dense, rows), "gelu"))


class SpanSelectionHead(nn.Module):
    """Start and end scores of any number of questions per sequence, each over all tokens of its own sequence."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.query_start = SelectionTransform(config)
        self.query_end = SelectionTransform(config)
        self.token_start = SelectionTransform(config)
        self.token_end = SelectionTransform(config)
        self.start = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.end = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def forward(
        self, hidden_TD: Tensor, question_P: Tensor, pointers: ManyPointers | PaddedPointers
    ) -> tuple[Tensor, Tensor]:
        """Score the tokens for each question: start and end scores [N] float32 each, [S, K, L] of padded pointers.

        question_P: [P] int64, the rows of the pack that are questions, sequence after sequence as `pointers` counts
        them. Candidates of question p are `borders[p]` to `borders[p + 1]` of `pointers`; row r of the pack is
        candidate r + `pointers.shift[p]`.
        """
        start, end = self.rows(hidden_TD, question_P)
        return pointers.scores(*start), pointers.scores(*end)

    def one_each(self, hidden_TD: Tensor, question_S: Tensor, sequences: Sequences) -> Tensor:
        """Score the tokens for the one question of each sequence: [T, 2] float32, start and end as other heads have
        them.

        question_S: [S] int64, rows of the pack. Sequences of filler behind these ask with their first row.
        """
        num_asked, num_tokens = len(question_S), sequences.num_tokens
        numbers_S = torch.arange(len(sequences.lengths), device=hidden_TD.device)
        sequence_T = numbers_S.repeat_interleave(sequences.cu_seqlens.diff(), output_size=num_tokens)
        asked_S = torch.cat([question_S, sequences.cu_seqlens[num_asked:-1].to(question_S.dtype)])
        num_sequences = len(asked_S)
        if not self.training and num_sequences < MIN_ROWS:  # else an answer's bits would depend on its neighbours
            asked_S = torch.cat([asked_S, asked_S[:1].expand(MIN_ROWS - num_sequences)])
        scores = [
            (tokens_TD * queries_SD.float().index_select(0, sequence_T)).sum(1)
            for queries_SD, tokens_TD in self.rows(hidden_TD, asked_S)
        ]
        return torch.stack(scores, dim=1)

    def rows(self, hidden_TD: Tensor, question_P: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Return what scores are products of, for the start and for the end: the rows of questions with their form
        applied, [P, D], and those of all tokens, [T, D]; all float32 but under autocast."""
        questions_PD = hidden_TD.index_select(0, question_P)
        return (
            (apply_to_rows(self.start, self.query_start(questions_PD)), self.token_start(hidden_TD)),
            (apply_to_rows(self.end, self.query_end(questions_PD)), self.token_end(hidden_TD)),
        )


HEAD_KINDS = (
    HeadKind(
        name="span_selection",
        title="recurring span selection",
        build=lambda encoder, size, form: SpanSelectionHead(encoder.config),
    ),
)
