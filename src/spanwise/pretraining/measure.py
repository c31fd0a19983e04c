"""Honest measures of a pre-trained model on held-out text: losses and hits token by token, for paired comparisons.

Every hidden token is shown as [MASK] here (in training one span in ten is left as it is, and a model could score by
copying it), the masking is constant, and all models and baselines are asked for the same tokens.

Letters: T tokens in the pack, S sequences, N hidden tokens, D hidden size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.data.batch import Batch
from spanwise.nn.heads.lm import MaskedLMHead
from spanwise.nn.heads.span_boundary import SpanBoundaryHead
from spanwise.nn.vocabulary_loss import vocabulary_logits
from spanwise.pretraining.collate import Masked, sequences_of
from spanwise.pretraining.hidden_tokens import HiddenTokens, describe_hidden
from spanwise.pretraining.masking.merge import gaps
from spanwise.pretraining.model import PretrainingModel

CHUNK_ROWS = 512  # rows of V logits held at once
TokenHead = MaskedLMHead | SpanBoundaryHead


@dataclass(frozen=True, kw_only=True)
class TokenScores:
    """One model's guesses for the N hidden tokens, by one head."""

    losses: np.ndarray  # [N] float64 nats; NaN where the head is not asked
    correct: np.ndarray  # [N] bool
    asked: np.ndarray  # [N] bool: all for MLM; SBO leaves out places beyond its position table


def to_batch(one: Masked) -> Batch:
    """A masked pack as the encoder reads it; no targets inside."""
    return Batch(
        input_ids=torch.from_numpy(one.input_ids),
        token_type_ids=torch.from_numpy(one.pack.token_type_ids),
        sequences=sequences_of(one.pack),
        ids=tuple(one.pack.block_ids.tolist()),
    )


def facts_of(masked: Sequence[Masked]) -> HiddenTokens:
    """Facts about all hidden tokens, in the order in which `score_hidden` scores them."""
    return describe_hidden((m.pack, m.spans, m.hidden) for m in masked)


def find_heads(model: PretrainingModel) -> dict[str, TokenHead]:
    """The heads that guess tokens: "mlm" and "sbo", as far as the model has them."""
    kinds: dict[str, type[TokenHead]] = {"mlm": MaskedLMHead, "sbo": SpanBoundaryHead}
    found: dict[str, TokenHead] = {}
    for name, kind in kinds.items():
        for module in model.heads.modules():
            if isinstance(module, kind):
                found[name] = module
                break
    return found


@torch.inference_mode()
def score_hidden(model: PretrainingModel, masked: Sequence[Masked]) -> dict[str, TokenScores]:
    """Ask every head of a model for every hidden token; float32, dropout off. Returns scores by head name."""
    heads = find_heads(model)
    columns: dict[str, dict[str, list[np.ndarray]]] = {
        name: {"losses": [], "correct": [], "asked": []} for name in heads
    }
    with evaluating(model):
        for one, name, rows_ND, asked_N in head_rows(model, masked, heads):
            losses = np.full(len(asked_N), np.nan)
            correct = np.zeros(len(asked_N), dtype=bool)
            target = one.hidden.original_ids[asked_N]
            losses[asked_N], correct[asked_N] = guess(model, heads[name], rows_ND, target)
            for key, value in (("losses", losses), ("correct", correct), ("asked", asked_N)):
                columns[name][key].append(value)
    return {
        name: TokenScores(**{key: np.concatenate(parts) for key, parts in column.items()})
        for name, column in columns.items()
        if column["losses"]
    }


class evaluating:
    """Dropout off inside the block, the former mode after it."""

    def __init__(self, model: nn.Module) -> None:
        self.model, self.was_training = model, model.training

    def __enter__(self) -> None:
        self.model.eval()

    def __exit__(self, *_: object) -> None:
        self.model.train(self.was_training)


def head_rows(
    model: PretrainingModel, masked: Sequence[Masked], heads: Mapping[str, TokenHead]
) -> Iterator[tuple[Masked, str, Tensor, np.ndarray]]:
    """Encode each pack once and give (pack, head name, transformed rows of the asked tokens, asked [N])."""
    device = next(model.parameters()).device
    for one in masked:
        hidden_TD = model.hidden(to_batch(one).to(device))
        position = torch.from_numpy(one.hidden.position).to(device)
        for name, head in heads.items():
            if isinstance(head, MaskedLMHead):
                yield one, name, head.transform(hidden_TD[position]), np.ones(len(position), dtype=bool)
                continue
            start_N, end_N = (edge_M[one.hidden.span] for edge_M in gaps(one.spans))
            index_N = one.hidden.position - start_N
            asked_N = index_N < head.num_positions
            left, right, index = (
                torch.from_numpy(values[asked_N]).to(device) for values in (start_N - 1, end_N, index_N)
            )
            yield one, name, head.transform(hidden_TD[left], hidden_TD[right], index), asked_N


def guess(
    model: PretrainingModel, head: TokenHead, rows_ND: Tensor, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Losses in nats and hits of transformed rows [N, D] against target ids [N]."""
    losses = np.empty(len(target), dtype=np.float64)
    correct = np.empty(len(target), dtype=bool)
    for first in range(0, len(target), CHUNK_ROWS):
        part = slice(first, first + CHUNK_ROWS)
        scores_NV = log_chances(model, head, rows_ND[part])
        wanted = torch.from_numpy(target[part]).to(scores_NV.device)
        losses[part] = -scores_NV.gather(1, wanted[:, None])[:, 0].cpu().double().numpy()
        correct[part] = (scores_NV.argmax(1) == wanted).cpu().numpy()
    return losses, correct


def log_chances(model: PretrainingModel, head: TokenHead, rows_ND: Tensor) -> Tensor:
    """Log P of all V tokens for transformed rows [N, D]; returns [N, V]."""
    return vocabulary_logits(rows_ND, head.weight, head.bias, model.encoder.config.vocab_size).log_softmax(-1)


@dataclass(frozen=True, kw_only=True)
class Filling:
    """The tokens that one model puts into the n hidden places of one sequence, likeliest first."""

    position: np.ndarray  # [n] in the sequence
    original_ids: np.ndarray  # [n]
    guesses: dict[str, list[list[tuple[int, float]]]]  # way -> place -> (id, chance); ways "mlm", "sbo", "both"


@torch.inference_mode()
def fill_sequence(model: PretrainingModel, one: Masked, sequence: int, *, top: int = 3) -> Filling:
    """The likeliest `top` tokens for each hidden place of one sequence of a pack.

    "both" multiplies the chances of MLM and SBO (and scales them to one), as their losses are added in training.
    """
    heads = find_heads(model)
    inside_N = one.spans.sequence[one.hidden.span] == sequence
    guesses: dict[str, list[list[tuple[int, float]]]] = {}
    total: Tensor | None = None
    with evaluating(model):
        for _, name, rows_ND, asked_N in head_rows(model, [one], heads):
            chosen = torch.from_numpy(inside_N[asked_N])
            scores = torch.zeros(int(inside_N.sum()), model.encoder.config.vocab_size)
            place = torch.from_numpy(asked_N[inside_N])
            scores[place] = log_chances(model, heads[name], rows_ND[chosen.to(rows_ND.device)]).cpu()
            guesses[name] = [likeliest(row, top) if ok else [] for row, ok in zip(scores, place.tolist(), strict=True)]
            total = scores if total is None else total + scores
    if total is not None and len(guesses) > 1:
        guesses["both"] = [likeliest(row.log_softmax(-1), top) for row in total]
    return Filling(
        position=one.hidden.position[inside_N] - one.pack.borders[sequence],
        original_ids=one.hidden.original_ids[inside_N],
        guesses=guesses,
    )


def likeliest(scores_V: Tensor, top: int) -> list[tuple[int, float]]:
    best = scores_V.topk(min(top, len(scores_V)))
    return [(int(index), float(score)) for index, score in zip(best.indices, best.values.exp(), strict=True)]
