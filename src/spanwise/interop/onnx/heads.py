"""What each head gives in a file: its scores over padded rows, and beside them those of the package over a pack.

| head | outputs |
|---|---|
| none (the encoder) | last_hidden_state [B, L, D] |
| qa | start_logits and end_logits [B, L]; with a classifier no_answer_logits [B] |
| qa, the end given the start | start_log_probs [B, L], start_positions [B, S], end_log_probs [B, S, L], as above |
| span_selection | start_logits and end_logits [B, L], asked for by the [QUESTION] of each sequence |
| classification | logits [B, K]; where pairs are read in both orders, of inputs [B, 2, L] |
| multiple_choice | logits [B, C] of inputs [B, C, L] |
| tagging | logits [B, L, K] |
| mlm, clm | logits [B, L, V] |
| rtd | logits [B, L] |
| nsp, sop | logits [B, 2] |

Scores of padding are minus infinity where they compete with others, and mean nothing elsewhere.

Letters: B sequences, L their padded length, N = B x L rows, T real tokens, D hidden size, K labels, C choices,
S starts.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.interop.onnx.graph import Port
from spanwise.nn.heads.lm import MaskedLMHead, TiedDecoder
from spanwise.nn.heads.pair import PairHead
from spanwise.nn.heads.qa import QuestionAnsweringHead
from spanwise.nn.heads.replaced_token import ReplacedTokenHead
from spanwise.nn.heads.sequence import SequenceHead
from spanwise.nn.heads.span_selection import SpanSelectionHead
from spanwise.nn.heads.token import TokenClassificationHead
from spanwise.nn.sequences import Sequences


@dataclass(frozen=True)
class PaddedRows:
    """Hidden states [N, D], the ids and the mask [B, L] that they were made of, and the word table [V, E]."""

    hidden_ND: Tensor
    ids_BL: Tensor
    mask_BL: Tensor
    word_table: Tensor
    more: tuple[Tensor, ...] = ()  # the inputs beside the usual ones

    @property
    def hidden_BLD(self) -> Tensor:
        batch, length = self.ids_BL.shape
        return self.hidden_ND.view(batch, length, -1)

    def over_tokens(self, scores_N: Tensor) -> Tensor:
        """Lay out scores [N] as [B, L], minus infinity at padding."""
        return scores_N.view(self.ids_BL.shape).masked_fill(self.mask_BL == 0, -torch.inf)


@dataclass(frozen=True)
class PackedRows:
    """The same as the package has it: hidden states [T, D] of the real tokens, and the borders of their sequences."""

    hidden_TD: Tensor
    ids_T: Tensor
    sequences: Sequences
    word_table: Tensor
    more: tuple[Tensor, ...] = ()


class Scores(nn.Module, ABC):
    """A head in a file. Outputs with the axis "length" are given by `packed` for the T real tokens."""

    outputs: tuple[Port, ...]
    inputs: tuple[Port, ...] = ()  # beside ids, mask and token types
    group: str | int | None = (
        None  # the axis of sequences that one row of the outputs is about; a number: always as many
    )

    @abstractmethod
    def padded(self, rows: PaddedRows) -> tuple[Tensor, ...]:
        """Return the outputs from padded rows, in operators that the exporter knows."""

    @abstractmethod
    def packed(self, rows: PackedRows) -> tuple[Tensor, ...]:
        """Return the outputs as the package computes them."""


class HiddenStates(Scores):
    """The encoder alone."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.outputs = (floats("last_hidden_state", ("batch", "length", hidden_size), "a vector per token"),)

    def padded(self, rows: PaddedRows) -> tuple[Tensor, ...]:
        return (rows.hidden_BLD,)

    def packed(self, rows: PackedRows) -> tuple[Tensor, ...]:
        return (rows.hidden_TD,)


def floats(name: str, axes: tuple[str | int, ...], meaning: str) -> Port:
    """Return a port of numbers."""
    return Port(name=name, axes=axes, meaning=meaning, type="float32")


_BORDERS = (
    floats("start_logits", ("batch", "length"), "how well each token begins the answer"),
    floats("end_logits", ("batch", "length"), "how well each token ends it; a span at token 0 says: no answer"),
)
NO_ANSWER = floats("no_answer_logits", ("batch",), "log-odds that there is no answer")


class SpanScores(Scores):
    """Start and end apart, with or without a classifier of questions without an answer."""

    def __init__(self, head: QuestionAnsweringHead) -> None:
        super().__init__()
        self.head = head
        self.outputs = _BORDERS if head.answerable is None else (*_BORDERS, NO_ANSWER)

    def padded(self, rows: PaddedRows) -> tuple[Tensor, ...]:
        start_N, end_N = self.head(rows.hidden_ND).unbind(1)
        return (
            rows.over_tokens(start_N),
            rows.over_tokens(end_N),
            *self._no_answer(rows.hidden_BLD[:, 0]),
        )

    def packed(self, rows: PackedRows) -> tuple[Tensor, ...]:
        start_T, end_T = self.head(rows.hidden_TD).unbind(1)
        return start_T, end_T, *self._no_answer(rows.hidden_TD[rows.sequences.cu_seqlens[:-1].long()])

    def _no_answer(self, first_BD: Tensor) -> tuple[Tensor, ...]:
        part = self.head.answerable
        return () if part is None else (part.score_rows(part.read(first_BD)),)


class PointerScores(Scores):
    """Start and end, pointed at from the first [QUESTION] of each sequence."""

    outputs = _BORDERS

    def __init__(self, head: SpanSelectionHead, question_id: int) -> None:
        super().__init__()
        self.head, self.question_id = head, question_id

    def padded(self, rows: PaddedRows) -> tuple[Tensor, ...]:
        batch, length = rows.ids_BL.shape
        asks_B = (rows.ids_BL == self.question_id).int().argmax(1) + torch.arange(batch) * length
        found = []
        for questions_BD, tokens_ND in self.head.rows(rows.hidden_ND, asks_B):
            scores_BL = (tokens_ND.view(batch, length, -1) * questions_BD[:, None]).sum(-1)
            found.append(rows.over_tokens(scores_BL))
        return tuple(found)

    def packed(self, rows: PackedRows) -> tuple[Tensor, ...]:
        parts, begins = rows.ids_T.split(rows.sequences.lengths), rows.sequences.cu_seqlens.tolist()
        asks = [
            begin + int((part == self.question_id).int().argmax()) for part, begin in zip(parts, begins, strict=False)
        ]
        return self.head.one_each(rows.hidden_TD, torch.tensor(asks), rows.sequences).unbind(1)


class SequenceScores(Scores):
    """K scores a sequence; of sequences in groups, those of the sum of their rows, or one a sequence (choices)."""

    def __init__(self, head: SequenceHead, axis: str | int, meaning: str, group: str | int | None = None) -> None:
        super().__init__()
        self.head, self.group = head, group
        self.pooler = head._pooler[0]  # registered here, so that the exporter finds its parameters
        self.outputs = (floats("logits", ("batch", axis), meaning),)

    def padded(self, rows: PaddedRows) -> tuple[Tensor, ...]:
        return (self._grouped(self._read(rows), self.head.score_rows),)

    def packed(self, rows: PackedRows) -> tuple[Tensor, ...]:
        return (self._grouped(self.head.read(rows.hidden_TD, rows.sequences), self.head.score),)

    def _grouped(self, rows_BD: Tensor, score: Callable[[Tensor], Tensor]) -> Tensor:
        if isinstance(self.group, int):
            return score(rows_BD.view(-1, self.group, rows_BD.shape[1]).sum(1))
        return score(rows_BD)

    def _read(self, rows: PaddedRows) -> Tensor:
        """Do what `SequenceHead.read` does, of padded rows: [B, D]."""
        if self.head.form == "normed_mean":
            mask_BL1 = rows.mask_BL[:, :, None].float()
            return (rows.hidden_BLD * mask_BL1).sum(1) / mask_BL1.sum(1)
        if not self.head.form.startswith("last"):
            return rows.hidden_BLD[:, 0]
        batch, length = rows.ids_BL.shape
        return rows.hidden_ND.index_select(0, torch.arange(batch) * length + rows.mask_BL.sum(1) - 1)


class TokenScores(Scores):
    """Scores per token: K labels, or the log-odds that it was replaced."""

    def __init__(self, head: TokenClassificationHead | ReplacedTokenHead) -> None:
        super().__init__()
        self.head = head
        axes: tuple[str | int, ...] = ("batch", "length")
        if isinstance(head, TokenClassificationHead):
            self.outputs = (floats("logits", (*axes, head.out.out_features), "a score per token and label"),)
        else:
            self.outputs = (floats("logits", axes, "log-odds that each token was replaced"),)

    def padded(self, rows: PaddedRows) -> tuple[Tensor, ...]:
        scores = self.head(rows.hidden_ND)
        batch, length = rows.ids_BL.shape
        return (scores.view(batch, length, *self.outputs[0].axes[2:]),)

    def packed(self, rows: PackedRows) -> tuple[Tensor, ...]:
        return (self.head(rows.hidden_TD),)


class VocabularyScores(Scores):
    """A score for each of the V words at each token."""

    bias: Tensor

    def __init__(self, head: TiedDecoder, vocab_size: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.transform = nn.Sequential() if not isinstance(head, MaskedLMHead) else Transform(head)
        self.register_buffer("bias", head.bias.detach()[:vocab_size].clone())
        seen = "at the token's own place" if isinstance(head, MaskedLMHead) else "of the token behind it"
        self.outputs = (floats("logits", ("batch", "length", vocab_size), f"a score per word, {seen}"),)

    def padded(self, rows: PaddedRows) -> tuple[Tensor, ...]:
        batch, length = rows.ids_BL.shape
        scores_NV = F.linear(self.transform(rows.hidden_ND), rows.word_table, self.bias)
        return (scores_NV.view(batch, length, self.vocab_size),)

    def packed(self, rows: PackedRows) -> tuple[Tensor, ...]:
        return (F.linear(self.transform(rows.hidden_TD), rows.word_table[: self.vocab_size], self.bias),)


class Transform(nn.Module):
    """`MaskedLMHead.transform` as a module."""

    def __init__(self, head: MaskedLMHead) -> None:
        super().__init__()
        self.head = head

    def forward(self, rows: Tensor) -> Tensor:
        return self.head.transform(rows)


class PairScores(Scores):
    """The scores of two segments: [B, 2]."""

    outputs = (floats("logits", ("batch", 2), "scores of: as the text stands, and: not so"),)

    def __init__(self, head: PairHead) -> None:
        super().__init__()
        self.head, self.pooler = head, head._pooler[0]

    def padded(self, rows: PaddedRows) -> tuple[Tensor, ...]:
        return (self.head(rows.hidden_BLD[:, 0]),)

    def packed(self, rows: PackedRows) -> tuple[Tensor, ...]:
        return (self.head(rows.hidden_TD[rows.sequences.cu_seqlens[:-1].long()]),)
