"""`spanwise.load`: a model folder as one callable, padded batches in and out.

Letters: B sequences of the batch, L their padded length, D hidden size, T real tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from spanwise.errors import CheckpointError, DataError
from spanwise.interop.checkpoint import Checkpoint, LoadReport, build_encoder, read_tokenizer, warn_of_misfits
from spanwise.interop.combined.reading import with_task
from spanwise.interop.huggingface import read_folder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.sequences import Sequences

if TYPE_CHECKING:
    from spanwise.text.tokenizers import Tokenizer

PACK_TOKENS = 8192  # tokens that `encode` sends through the encoder at once


def load(source: str | Path, *, task: str | None = None) -> LoadedModel:
    """Load a model folder or hub id for use; a warning is logged when not all tensors fit as they are.

    task: the encoder as this task of a folder with several (`spanwise combine`) has it; None: the base.
    Raises:
        CheckpointError: a folder that is missing, foreign or damaged, or has no such task.
    """
    checkpoint = read_folder(source)
    if task is not None:
        if task not in checkpoint.tasks:
            has = ", ".join(checkpoint.tasks) or "none"
            raise CheckpointError(f"{source} has no task {task!r} beside its encoder; its tasks: {has}.")
        checkpoint = with_task(checkpoint, task)
    warn_of_misfits(checkpoint)
    return LoadedModel(checkpoint).eval()


class LoadedModel(nn.Module):
    """An encoder behind the padded interface that people know. Inside, the batch is packed: padding costs nothing.

    Differs: positions are counted from a sequence's first real token, so left and right padding give the same hidden
    states; Hugging Face's classes but RoBERTa's count left padding unless they are given `position_ids`.
    """

    encoder: Encoder

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__()
        self.encoder = build_encoder(checkpoint)
        self.report: LoadReport = checkpoint.report
        self.folder = checkpoint.folder
        self._described = replace(checkpoint, tensors={}, heads={})  # the weights are the encoder's
        self._tokenizer: Tokenizer | None = None

    @property
    def config(self) -> EncoderConfig:
        return self.encoder.config

    @property
    def tokenizer(self) -> Tokenizer:
        """Return the folder's tokenizer, read when first asked for.

        Raises:
            CheckpointError: the folder holds none.
        """
        if self._tokenizer is None:
            self._tokenizer = read_tokenizer(self._described)
        if self._tokenizer is None:
            raise CheckpointError(f"{self.folder} holds no tokenizer.json or vocab.txt; pass ids instead of text.")
        return self._tokenizer

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """Return the hidden states [B, L, D] float32 of input_ids [B, L], zeros at padding.

        attention_mask, token_type_ids: [B, L].

        Raises:
            DataError: wrong shapes, ids outside the vocabulary, holes in the mask, or too many tokens.
        """
        keep_BL = self._checked_mask(input_ids, attention_mask)
        lengths = [length for length in keep_BL.sum(1).tolist() if length]
        hidden_BLD = torch.zeros(*input_ids.shape, self.config.hidden_size, device=input_ids.device)
        if not lengths:
            return hidden_BLD
        ids_T = input_ids[keep_BL]
        self._check_ids(ids_T)
        types_T = torch.zeros_like(ids_T) if token_type_ids is None else token_type_ids[keep_BL]
        sequences = Sequences.from_lengths(lengths).to(input_ids.device)
        return hidden_BLD.masked_scatter(keep_BL.unsqueeze(-1), self.encoder(ids_T, types_T, sequences).float())

    @torch.no_grad()
    def encode(self, texts: Sequence[str]) -> list[Tensor]:
        """Return the hidden states of each text, [n, D] with [CLS] first and [SEP] last, where the tokenizer has them.

        Raises:
            DataError: one string instead of a list, or a text with more tokens than the encoder has positions.
        """
        if isinstance(texts, str):
            raise DataError("encode() takes a list of texts; one string came. Write encode([text]).")
        tokenizer = self.tokenizer
        before, after = ([number] if number >= 0 else [] for number in (tokenizer.cls_id, tokenizer.sep_id))
        rows = [[*before, *e.ids, *after] for e in tokenizer.encode_batch(list(texts))]
        for index, row in enumerate(rows):
            if len(row) > self.config.max_positions:
                raise DataError(
                    f"Text {index} has {len(row)} tokens, special ones included; this encoder reads at most "
                    f"{self.config.max_positions}. Split it."
                )
        hidden: list[Tensor] = []
        pack: list[list[int]] = []
        for row in filter(None, rows):
            if pack and sum(map(len, pack)) + len(row) > PACK_TOKENS:
                hidden += self._encode_pack(pack)
                pack = []
            pack.append(row)
        hidden += self._encode_pack(pack) if pack else []
        nothing = torch.zeros(0, self.config.hidden_size, device=self.encoder.word_embedding.device)
        found = iter(hidden)
        return [next(found) if row else nothing for row in rows]

    def _encode_pack(self, rows: list[list[int]]) -> list[Tensor]:
        device = self.encoder.word_embedding.device
        ids_T = torch.tensor([int(i) for row in rows for i in row], device=device)
        self._check_ids(ids_T)
        lengths = [len(row) for row in rows]
        hidden_TD = self.encoder(ids_T, torch.zeros_like(ids_T), Sequences.from_lengths(lengths).to(device))
        return list(hidden_TD.float().split(lengths))

    def _checked_mask(self, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        if input_ids.ndim != 2:
            raise DataError(f"input_ids must have shape [B, L]; {list(input_ids.shape)} came.")
        if attention_mask is None:
            return torch.ones_like(input_ids, dtype=torch.bool)
        if attention_mask.shape != input_ids.shape:
            raise DataError(
                f"attention_mask has shape {list(attention_mask.shape)}, input_ids {list(input_ids.shape)}; "
                "they must be alike."
            )
        keep_BL = attention_mask.bool()
        begins_BL = keep_BL[:, 1:] & ~keep_BL[:, :-1]
        num_runs_B = begins_BL.sum(1) + keep_BL[:, :1].sum(1)
        if (num_runs_B > 1).any():
            row = int(num_runs_B.argmax())
            raise DataError(f"attention_mask row {row} has holes; real tokens must lie side by side.")
        return keep_BL

    def _check_ids(self, ids_T: Tensor) -> None:
        # the table has padded rows, so an id past the vocabulary would find one of them in silence
        low, high = int(ids_T.min()), int(ids_T.max())
        if low < 0 or high >= self.config.vocab_size:
            raise DataError(
                f"Ids {low} to {high} came, but this model knows 0 to {self.config.vocab_size - 1}. The tokenizer does "
                "not belong to it."
            )
