"""A model over padded ids as one module for the exporter, and the same outputs by the package's own path.

Letters: B rows of the outputs, C sequences of each (1 where there are no groups), L their padded length, T real tokens.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from spanwise.interop.onnx.encoder import PaddedGraph
from spanwise.interop.onnx.graph import Port
from spanwise.interop.onnx.heads import PackedRows, PaddedRows, Scores
from spanwise.interop.onnx.joint import ANSWER_MASK
from spanwise.nn.encoder import Encoder
from spanwise.nn.sequences import Sequences


class TextGraph(PaddedGraph):
    """Called with the tensors of `inputs` in order; gives those of `outputs`."""

    def __init__(self, encoder: Encoder, scores: Scores) -> None:
        super().__init__(encoder)
        self.scores = scores.eval()
        axes: tuple[str | int, ...] = ("batch", "length")
        if scores.group is not None:
            axes = ("batch", scores.group, "length")
        usual = [
            Port(name="input_ids", axes=axes, meaning="token ids; padding comes last"),
            Port(name="attention_mask", axes=axes, meaning="1 for tokens, 0 for padding"),
        ]
        self.has_types = encoder.config.num_token_types > 1
        if self.has_types:
            meaning = "0 for the first text, 1 for the second"
            if encoder.config.num_token_types > 2:
                meaning += "; the last four for words that both share (shared_words.py)"
            usual.append(Port(name="token_type_ids", axes=axes, meaning=meaning))
        self.inputs = (*usual, *scores.inputs)
        self.outputs = scores.outputs

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        num_usual = 2 + self.has_types
        flat = [tensor.reshape(-1, tensor.shape[-1]) for tensor in given[:num_usual]]
        ids_BL, mask_BL = flat[:2]
        hidden_ND = self.encode(ids_BL, mask_BL, flat[2] if self.has_types else None)
        outputs = self.scores.padded(PaddedRows(hidden_ND, ids_BL, mask_BL, self.word_table, given[num_usual:]))
        if self.scores.group is not None and not isinstance(self.scores.group, int):
            return tuple(scores.view(given[0].shape[0], given[0].shape[1]) for scores in outputs)
        return outputs


def trial(graph: TextGraph, seed: int, num_rows: int, length: int, first: int = 0) -> dict[str, Tensor]:
    """Draw inputs: the first sequence is as long as asked for, the others shorter. first: the lowest id drawn."""
    draw = torch.Generator().manual_seed(seed)
    group = graph.scores.group
    shape = (num_rows, length) if group is None else (num_rows, 2 if isinstance(group, str) else group, length)
    ids = torch.randint(first, graph.config.vocab_size, shape, generator=draw)
    lengths = torch.randint(max(1, length // 2), length + 1, shape[:-1], generator=draw)
    lengths.view(-1)[0] = length
    mask = (torch.arange(length) < lengths[..., None]).long()
    types = ((torch.arange(length) >= lengths[..., None] // 2) & (mask > 0)).long()
    question_id = getattr(graph.scores, "question_id", None)
    if question_id is not None:
        ids[..., 1] = question_id
    known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types, ANSWER_MASK.name: types}
    return {port.name: known[port.name] for port in graph.inputs}


@torch.no_grad()
def computed_by_us(encoder: Encoder, graph: TextGraph, given: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
    """Return the outputs that the package computes: its packed encoder and head. What is of padding is not-a-number."""
    length = given["input_ids"].shape[-1]
    ids_BL, mask_BL = (given[name].reshape(-1, length) for name in ("input_ids", "attention_mask"))
    keep_BL = mask_BL.bool()
    types_T = given["token_type_ids"].reshape(-1, length)[keep_BL] if graph.has_types else None
    ids_T = ids_BL[keep_BL]
    sequences = Sequences.from_lengths(mask_BL.sum(1).tolist())
    hidden_TD = encoder(ids_T, torch.zeros_like(ids_T) if types_T is None else types_T, sequences)
    more = tuple(given[port.name] for port in graph.scores.inputs)
    outputs = graph.scores.packed(PackedRows(hidden_TD, ids_T, sequences, encoder.word_embedding, more))
    return tuple(
        _laid_out(values, port, keep_BL, given["input_ids"].shape)
        for values, port in zip(outputs, graph.outputs, strict=True)
    )


def _laid_out(values: Tensor, port: Port, keep_BL: Tensor, shape: torch.Size) -> Tensor:
    """Give an output of the real tokens [T, ...] its padded form [B, L, ...]; of a whole row, its own."""
    if port.axes[1:2] == ("length",):
        padded = torch.full((*keep_BL.shape, *values.shape[1:]), torch.nan, dtype=values.dtype)
        padded[keep_BL] = values
        return padded
    if isinstance(port.axes[-1], str) and len(port.axes) == 2:  # one number a sequence of a group
        return values.view(shape[:2])
    return values
