"""Honest measures of a pre-trained model on held-out text: losses and hits token by token, for paired comparisons.

Every hidden token is shown as [MASK] here (in training one span in ten is left as it is, and a model could score by
copying it), the masking is constant, and all models and baselines are asked for the same tokens.

Letters: T tokens in the pack, S sequences, N hidden tokens, D hidden size, V vocabulary.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.data.batch import Batch
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.lm import MaskedLMHead
from spanwise.nn.heads.span_boundary import SpanBoundaryHead
from spanwise.nn.vocabulary_loss import vocabulary_logits
from spanwise.pretraining.baselines import HiddenTokens, describe_hidden
from spanwise.pretraining.collate import Masked, sequences_of
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
    found: dict[str, TokenHead] = {}
    for module in model.heads.modules():
        if isinstance(module, MaskedLMHead | SpanBoundaryHead):
            found.setdefault("mlm" if isinstance(module, MaskedLMHead) else "sbo", module)
    return dict(sorted(found.items()))


@torch.inference_mode()
def score_hidden(model: PretrainingModel, masked: Sequence[Masked]) -> dict[str, TokenScores]:
    """Ask every head of a model for every hidden token; float32, dropout off. Returns scores by head name."""
    heads, vocab_size = find_heads(model), model.encoder.config.vocab_size
    columns: dict[str, list[tuple[np.ndarray, ...]]] = {name: [] for name in heads}
    with evaluating(model):
        for one, name, rows_ND, asked_N in head_rows(model.encoder, masked, heads):
            target_N = one.hidden.original_ids
            losses_N, found_N = guess(heads[name], rows_ND, target_N, asked_N, vocab_size)
            columns[name].append((losses_N, found_N == target_N, asked_N))
    joined = {name: map(np.concatenate, zip(*parts, strict=True)) for name, parts in columns.items() if parts}
    return {
        name: TokenScores(losses=losses_N, correct=correct_N, asked=asked_N)
        for name, (losses_N, correct_N, asked_N) in joined.items()
    }


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Switch dropout off inside the block, and the former mode on after it."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def head_rows(
    encoder: Encoder, masked: Sequence[Masked], heads: Mapping[str, TokenHead], beyond: Literal["last", "skip"] = "skip"
) -> Iterator[tuple[Masked, str, Tensor, np.ndarray]]:
    """Encode each pack once and give (pack, head name, transformed rows of the asked tokens, asked [N]).

    Tokens that lie deeper in their span than the position table reaches are not asked for, or share its last row
    (`beyond="last"`).
    """
    device = encoder.word_embedding.device
    for one in masked:
        batch = to_batch(one).to(device)
        hidden_TD = encoder(batch.input_ids, batch.token_type_ids, batch.sequences)
        position = torch.from_numpy(one.hidden.position).to(device)
        for name, head in heads.items():
            if isinstance(head, MaskedLMHead):
                yield one, name, head.transform(hidden_TD[position]), np.ones(len(position), dtype=bool)
                continue
            start_N, end_N = (edge_M[one.hidden.span] for edge_M in gaps(one.spans))
            index_N = one.hidden.position - start_N
            asked_N = (index_N < head.num_positions) | (beyond == "last")
            index_N = np.minimum(index_N, head.num_positions - 1)
            left, right, index = (
                torch.from_numpy(values[asked_N]).to(device) for values in (start_N - 1, end_N, index_N)
            )
            yield one, name, head.transform(hidden_TD[left], hidden_TD[right], index), asked_N


def guess(
    head: TokenHead, rows_ND: Tensor, target_N: np.ndarray, asked_N: np.ndarray, vocab_size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return losses in nats against the target ids [N] and the likeliest ids [N]; NaN and -1 where none is asked for.

    `rows_ND` are the transformed rows of the asked tokens alone.
    """
    losses_N, found_N = np.full(len(target_N), np.nan), np.full(len(target_N), -1)
    asked = np.flatnonzero(asked_N)
    for first in range(0, len(asked), CHUNK_ROWS):
        part = asked[first : first + CHUNK_ROWS]
        chances_NV = log_chances(head, rows_ND[first : first + CHUNK_ROWS], vocab_size)
        wanted = torch.from_numpy(target_N[part]).to(chances_NV.device)
        losses_N[part] = -chances_NV.gather(1, wanted[:, None])[:, 0].cpu().double().numpy()
        found_N[part] = chances_NV.argmax(1).cpu().numpy()
    return losses_N, found_N


def log_chances(head: TokenHead, rows_ND: Tensor, vocab_size: int) -> Tensor:
    """Return log P of all V tokens for transformed rows [N, D], as [N, V]."""
    return vocabulary_logits(rows_ND, head.weight, head.bias, vocab_size).log_softmax(-1)


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
    heads, vocab_size = find_heads(model), model.encoder.config.vocab_size
    inside_N = one.spans.sequence[one.hidden.span] == sequence
    guesses: dict[str, list[list[tuple[int, float]]]] = {}
    total: Tensor | None = None
    with evaluating(model):
        for _, name, rows_ND, asked_N in head_rows(model.encoder, [one], heads):
            chosen = torch.from_numpy(inside_N[asked_N])
            scores = torch.zeros(int(inside_N.sum()), vocab_size)
            place = torch.from_numpy(asked_N[inside_N])
            scores[place] = log_chances(heads[name], rows_ND[chosen.to(rows_ND.device)], vocab_size).cpu()
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
