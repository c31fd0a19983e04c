"""An encoder with the heads that guess hidden tokens, asked for the blanks of texts.

Letters: n tokens of one question, k blanks asked for, V vocabulary, D hidden size, T tokens of a pack.
Source: the masked-LM head after BERT, section 3.1; the span-boundary head after SpanBERT, section 3.2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.data.batch import Batch
from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import Checkpoint, build_encoder, build_head
from spanwise.interop.convert import GENERATOR
from spanwise.nn.heads.lm import MaskedLMHead, TiedDecoder
from spanwise.nn.heads.span_boundary import SpanBoundaryHead
from spanwise.nn.int8.encoder import check_prepared, prepared_for
from spanwise.nn.sequences import Sequences
from spanwise.nn.vocabulary_loss import vocabulary_logits
from spanwise.runtime.device import Precision, autocast, resolve_precision
from spanwise.tasks.batches import PREDICTION, Packing

HEAD_ROWS = 32  # blanks of one product with the vocabulary, in packs of a fixed shape
CPU = torch.device("cpu")
HeadName = Literal["mlm", "sbo", "both"]
HEADS: dict[str, tuple[str, ...]] = {"mlm": ("mlm",), "sbo": ("sbo",), "both": ("mlm", "sbo")}
_TITLES = {"mlm": "masked-LM", "sbo": "span-boundary"}


@dataclass(frozen=True, kw_only=True)
class Question:
    """One sequence with [CLS] and [SEP], and which of its tokens to guess."""

    ids: np.ndarray  # [n] int64
    blanks: np.ndarray  # [k] int64: places to guess
    run: tuple[int, int]  # the half-open run of hidden tokens that they lie in: 0 < start, end < n


class MaskModel(nn.Module):
    """Guesses hidden tokens with one head, or with both by the mean of their log-probabilities, normalised again."""

    def __init__(
        self, checkpoint: Checkpoint, head: HeadName, device: torch.device = CPU, precision: Precision = "fp32"
    ) -> None:
        """Raises: CheckpointError for a causal encoder, or a folder without the head; ConfigError for a precision
        that the device has not."""
        super().__init__()
        resolve_precision(precision, device)
        if checkpoint.config.causal:
            raise CheckpointError(
                f"{checkpoint.folder} is a causal model: it sees what stands before a blank, not what follows. Blanks "
                "are filled by models that were trained on hidden tokens."
            )
        lacking = [name for name in HEADS[head] if name not in checkpoint.heads]
        if lacking:
            raise CheckpointError(
                f"{checkpoint.folder} ({checkpoint.source_class}) has no {_TITLES[lacking[0]]} head, and guesses of a "
                f"fresh one would be noise. {_cure(checkpoint, head)}{_what_there_is(checkpoint)}"
            )
        encoder = build_encoder(checkpoint)
        heads = {name: build_head(checkpoint, name, encoder) for name in HEADS[head]}
        self.encoder = prepared_for(precision, encoder)
        self.num_ids = self.encoder.config.vocab_size  # fewer where the tokenizer has fewer: the rest are no tokens
        self.heads = nn.ModuleDict({name: made for name, made in heads.items() if made is not None})
        self.to(device).eval()

    def log_probs(
        self, questions: Sequence[Question], *, precision: Precision = "fp32", packing: Packing = PREDICTION
    ) -> Iterator[Tensor]:
        """Yield log-probabilities of all ids at the blanks of each question, float32 [k, V] on the CPU, in order.

        They are made pack by pack as they are asked for: those of many texts together would fill the memory.
        """
        check_prepared(self.encoder, precision)
        resolved = resolve_precision(precision, self.encoder.word_embedding.device)
        lengths = np.array([len(question.ids) for question in questions], dtype=np.int64)
        for first, last in packing.borders(lengths):
            yield from self._pack_log_probs(questions[first:last], resolved, packing)

    @torch.inference_mode()
    def _pack_log_probs(
        self, pack: Sequence[Question], precision: Literal["fp32", "bf16"], packing: Packing
    ) -> Sequence[Tensor]:
        device = self.encoder.word_embedding.device
        lengths = [len(question.ids) for question in pack]
        ids_T = torch.from_numpy(np.concatenate([question.ids for question in pack]))
        sequences = Sequences.from_lengths(lengths)
        batch = packing.filled(Batch(input_ids=ids_T, token_type_ids=torch.zeros_like(ids_T), sequences=sequences)).to(
            device
        )
        head_rows = HEAD_ROWS if packing.is_fixed else None
        with autocast(precision, device):
            hidden_TD = self.encoder(batch.input_ids, batch.token_type_ids, batch.sequences)
            scores = [self._scores(head, hidden_TD, pack, lengths, head_rows) for head in self.heads.values()]
        total = torch.stack([torch.log_softmax(score, -1) for score in scores]).mean(0)
        if len(scores) > 1:
            total = torch.log_softmax(total, -1)
        return total.cpu().split([len(question.blanks) for question in pack])

    def _scores(
        self,
        head: nn.Module,
        hidden: Tensor,
        pack: Sequence[Question],
        lengths: Sequence[int],
        head_rows: int | None,
    ) -> Tensor:
        """Return the scores [k of all questions, V] of one head; `head_rows`: of each of its products."""
        device, counts = hidden.device, [len(question.blanks) for question in pack]
        begin_k = np.repeat(np.cumsum([0, *lengths[:-1]]), counts)  # where the question of each blank begins
        place_k = begin_k + np.concatenate([question.blanks for question in pack])
        if isinstance(head, SpanBoundaryHead):
            start_k = begin_k + np.repeat([question.run[0] for question in pack], counts)
            end_k = begin_k + np.repeat([question.run[1] for question in pack], counts)
            index_k = np.minimum(place_k - start_k, head.num_positions - 1)
            columns = [start_k - 1, end_k, index_k]
        else:
            columns = [place_k]
        size = head_rows or len(place_k)
        filler = -len(place_k) % size
        padded = [torch.from_numpy(np.pad(column, (0, filler))).to(device) for column in columns]
        pieces = [self._logits(head, hidden, *part) for part in zip(*(c.split(size) for c in padded), strict=True)]
        return torch.cat(pieces)[: len(place_k)]

    def _logits(self, head: nn.Module, hidden: Tensor, first: Tensor, *borders: Tensor) -> Tensor:
        """Return the scores of one product; `first` are blanks, or with `borders` what stands left of their runs."""
        if isinstance(head, SpanBoundaryHead):
            right, index = borders
            rows = head.transform(hidden[first], hidden[right], index)
        else:
            assert isinstance(head, MaskedLMHead)
            rows = head.transform(hidden[first])
        assert isinstance(head, TiedDecoder)
        return vocabulary_logits(rows, head.weight, head.bias, self.num_ids)


def _cure(checkpoint: Checkpoint, head: HeadName) -> str:
    generator = checkpoint.folder / GENERATOR
    if head == "mlm" and (generator / "config.json").exists():
        return f"ELECTRA's is its generator's: name {generator} as the model"
    return (
        "Name a folder that kept it, or train it: spanwise pretrain RECIPE --init "
        f"{checkpoint.folder} --text FILES --out RUN"
    )


def _what_there_is(checkpoint: Checkpoint) -> str:
    there = [name for name in _TITLES if name in checkpoint.heads]
    return f". It has the {_TITLES[there[0]]} head: head={there[0]!r} asks that." if there else "."
