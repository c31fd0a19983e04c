"""Extractive question answering heads: where an answer starts and ends, and whether there is one.

| form | start | end | classifier of "no answer", where there is one |
|---|---|---|---|
| independent (BERT) | Linear D -> 1 | Linear D -> 1 | Linear D -> 1 of the first token (RoBERTa) |
| joint (ELECTRA) | Linear D -> 1 | two layers on token and start | two layers on first token and mean start |

Two layers are Linear 2D -> 512, GELU, Linear 512 -> 1; the mean start is the mean vector under the start probabilities.
Without a classifier "no answer" is a span at the first token.

Letters: T tokens in the pack, S windows, D hidden size, B starts that are looked at.
Source: Devlin et al. 2019 (BERT), section 4.2; Liu et al. 2019 (RoBERTa), section 5.2; Clark et al. 2020 (ELECTRA) and
its released code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from spanwise.nn.config import EncoderConfig
from spanwise.nn.heads.kind import HeadKind, Size
from spanwise.nn.heads.sequence import score_by_parts
from spanwise.nn.heads.token import normed_rows
from spanwise.nn.layer import gelu
from spanwise.runtime.row_counts import apply_to_rows

if TYPE_CHECKING:
    from spanwise.nn.encoder import Encoder

JOINT_WIDTH = 512  # of ELECTRA's released code, whatever the encoder's width


class Answerability(nn.Module):
    """The log-odds that a question has no answer: [S, D] or [S, 2D] to [S] float32."""

    def __init__(self, config: EncoderConfig, *, reads_start: bool = False) -> None:
        super().__init__()
        self.dense = nn.Linear(2 * config.hidden_size, JOINT_WIDTH) if reads_start else None
        self.out = nn.Linear(JOINT_WIDTH if reads_start else config.hidden_size, 1)

    def forward(self, first_SD: Tensor, start_SD: Tensor | None = None) -> Tensor:
        """first_SD: the first token of each window; start_SD: the mean vector under its start probabilities."""
        rows = self.read(first_SD, start_SD)
        if self.training or not len(rows):
            return self.score_rows(rows)
        return score_by_parts(self.score_rows, rows)

    def read(self, first_SD: Tensor, start_SD: Tensor | None = None) -> Tensor:
        """Return the vector of each window that is scored."""
        if self.dense is None or start_SD is None:
            return first_SD
        return gelu(self.dense(torch.cat([first_SD, start_SD], dim=1)), "gelu")

    def score_rows(self, rows: Tensor) -> Tensor:
        """Return the log-odds [S] of vectors, in one product; the last bits depend on how many there are."""
        return self.out(rows).float().squeeze(1)


class QuestionAnsweringHead(nn.Module):
    """Start and end chosen apart, or the end given the start (`joint`); with or without a classifier (`answerable`).

    What a form does not have is None: `linear` [D -> 2] is the independent form's, `start`, `hidden` and `end` are the
    joint one's. `transform` comes before the independent form's product on a pre-norm encoder (ModernBERT).
    """

    def __init__(self, config: EncoderConfig, *, joint: bool = False, answerable: bool = False) -> None:
        super().__init__()
        width = config.hidden_size
        self.transform = None if joint else normed_rows(config)
        self.linear = None if joint else nn.Linear(width, 2)
        self.start = nn.Linear(width, 1) if joint else None
        self.hidden = nn.Linear(2 * width, JOINT_WIDTH) if joint else None
        self.end = nn.Linear(JOINT_WIDTH, 1) if joint else None
        self.answerable = Answerability(config, reads_start=joint) if answerable else None

    @property
    def is_joint(self) -> bool:
        return self.linear is None

    def forward(self, hidden: Tensor) -> Tensor:
        """hidden: [T, D]. Returns [T, 2] float32: column 0 scores the first token of the answer, column 1 its last.

        Of the independent form alone."""
        assert self.linear is not None
        hidden = hidden if self.transform is None else self.transform(hidden)
        return apply_to_rows(self.linear, hidden).float()

    def start_scores(self, hidden_TD: Tensor) -> Tensor:
        """Score how well each token begins an answer: [T] float32, of the joint form."""
        assert self.start is not None
        return self.start(hidden_TD).float().squeeze(1)

    def end_scores(self, starts_BD: Tensor, tokens_TD: Tensor, start_T: Tensor | None = None) -> Tensor:
        """Score how well each token ends an answer that begins at a start, float32, of the joint form.

        Returns [B, T]; with `start_T` (which of the starts each token goes with) [T].
        """
        assert self.hidden is not None and self.end is not None
        width = starts_BD.shape[1]
        # One product of the two vectors side by side is the sum of two products: the tokens' is made once for all.
        of_start = torch.nn.functional.linear(starts_BD, self.hidden.weight[:, :width], self.hidden.bias)
        of_token = torch.nn.functional.linear(tokens_TD, self.hidden.weight[:, width:])
        both = of_start[:, None] + of_token[None] if start_T is None else of_start[start_T] + of_token
        return self.end(gelu(both, "gelu")).float().squeeze(-1)


def _size_of(tensors: Mapping[str, Tensor]) -> Size:
    """Return whether the head is joint and whether it has a classifier, each 0 or 1; () for neither."""
    size = int("start.weight" in tensors), int("answerable.out.weight" in tensors)
    return size if any(size) else ()


def _build(encoder: Encoder, size: Size, form: str) -> QuestionAnsweringHead:
    joint, answerable = size or (0, 0)
    return QuestionAnsweringHead(encoder.config, joint=bool(joint), answerable=bool(answerable))


HEAD_KINDS = (
    HeadKind(
        name="qa",
        title="extractive question answering",
        build=_build,
        size_of=_size_of,
        is_labelled=True,
        separate_part="answerable",
    ),
    HeadKind(
        name="answerable",
        title="answerability of questions",
        build=lambda encoder, size, form: Answerability(encoder.config, reads_start=size == (1,)),
        size_of=lambda tensors: (1,) if "dense.weight" in tensors else (),
    ),
)
