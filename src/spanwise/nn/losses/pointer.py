"""Pointers over the tokens of a sequence: each chooses one position among the candidates of its own.

The start of an answer and its end are two pointers over the tokens of a window; a choice among the endings of a
question is a pointer over them; a span that was hidden and stands elsewhere in the text is found by two pointers of its
own, and a sequence may have any number. The candidates of all pointers lie end to end in one flat array of scores, and
the softmax runs over each pointer's share of it: nothing is padded to a rectangle.

On a CPU both passes are compiled loops (nn/fused/pointer.py), elsewhere segmented sums: the same order of additions in
every run, which `index_add` has not.

Letters: P pointers, N candidates of all of them, G gold positions, T tokens in the pack, S sequences, D vector size.
Source: Vinyals et al. 2015 (Pointer Networks), section 2.3; Clark and Gardner 2018, section 2.3 (several gold
positions); Ram et al. 2021 (Splinter), section 4.2 (a start and an end per hidden span, by bilinear forms).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from spanwise.nn.fused.pointer import point_rows, scaled_chances, serves
from spanwise.nn.losses.loss_sum import LossSum
from spanwise.nn.sequences import Sequences

MOST_PADDING = 8  # times as much as is needed; a choice by reckoning, not tried on a GPU yet


@dataclass(frozen=True)
class Pointed:
    """The log-probability of each gold position [G] float32, and whether it is on top of its pointer's (detached)."""

    log_p: Tensor
    on_top: Tensor


def point(scores: Tensor, borders: Tensor, gold: Tensor, owners: Tensor | None = None) -> Pointed:
    """Return the log-probabilities of gold positions, each a softmax over the candidates of its pointer.

    Args:
        scores: [N], the candidates of pointer after pointer; minus infinity where a pointer may not point.
        borders: [P+1] int64, where the candidates of each pointer begin; every pointer has one candidate at least.
        gold: [G] int64, places in `scores`.
        owners: [G] int64, not falling, the pointer of each gold position; None: one gold position per pointer.
    """
    scores = scores.float()
    if owners is None:
        owners = torch.arange(len(gold), device=gold.device)
    log_p_G, on_top_G = _Point.apply(scores, borders, gold, owners)
    return Pointed(log_p_G, on_top_G)


def pointer_loss(scores: Tensor, borders: Tensor, gold: Tensor) -> LossSum:
    """Return minus the log of the probability of one gold position per pointer, summed; arguments as for `point`."""
    found = point(scores, borders, gold)
    return LossSum(sum=-found.log_p.sum(), num_correct=found.on_top.sum(), is_log_likelihood=True)


def loss_of_any(found: Pointed, gold_borders: Tensor) -> LossSum:
    """Return the loss where any gold position of a pointer is right; `gold_borders` [P+1] cuts them.

    Their probabilities are added, so that the model may choose which of them it finds.
    """
    right_P = torch.segment_reduce(found.on_top.float(), "max", offsets=gold_borders, unsafe=True)
    loss = -log_sum_exp(found.log_p, gold_borders).sum()
    return LossSum(sum=loss, num_correct=right_P.sum().long(), is_log_likelihood=True)


def spread(rows: Tensor, borders: Tensor, num_entries: int) -> Tensor:
    """Repeat the row of each pointer for every one of its entries: [P, ...] to [N, ...].

    `num_entries` is N, the last of `borders`: a GPU would have to be waited for to read it there.
    """
    return rows.repeat_interleave(borders.diff(), dim=0, output_size=num_entries)


def log_sum_exp(values: Tensor, borders: Tensor) -> Tensor:
    """Return the log of the sum of exponentials over the entries of each pointer: [N] to [P]."""
    highest_P = torch.segment_reduce(values.detach(), "max", offsets=borders, unsafe=True)
    shares_N = (values - spread(highest_P, borders, len(values))).exp()
    return torch.segment_reduce(shares_N, "sum", offsets=borders, unsafe=True).log() + highest_P


def log_softmax(scores: Tensor, borders: Tensor) -> Tensor:
    """Return the log-probabilities of all candidates: [N] to [N]."""
    return scores - spread(log_sum_exp(scores, borders), borders, len(scores))


@dataclass(frozen=True)
class ManyPointers:
    """Any number of pointers per sequence, each over all tokens of its sequence, in the order of the sequences.

    `counts` says how many pointers each sequence has, `lengths` its tokens; `borders` [P+1] cuts the candidates, and
    `shift` [P] added to a row of the pack gives its place among them. `slots` [P] and `token_slots` [T] are the
    places of pointers and tokens where every sequence has room for as many as the one that has most.
    """

    counts: tuple[int, ...]
    lengths: tuple[int, ...]
    borders: Tensor
    shift: Tensor
    slots: Tensor
    token_slots: Tensor

    @classmethod
    def of(cls, counts: Sequence[int], sequences: Sequences) -> ManyPointers:
        """Lay out `counts[s]` pointers over sequence s, for as many sequences as are counted."""
        lengths_S = np.array(sequences.lengths[: len(counts)], dtype=np.int64)
        lengths_P = np.repeat(lengths_S, counts)
        borders = np.concatenate([[0], np.cumsum(lengths_P)])
        starts_P = np.repeat(np.cumsum(lengths_S) - lengths_S, counts)
        slots_P, slots_T = _own_slots(np.array(counts, dtype=np.int64)), _own_slots(lengths_S)
        device = sequences.cu_seqlens.device
        return cls(
            counts=tuple(int(count) for count in counts),
            lengths=tuple(lengths_S.tolist()),
            borders=torch.from_numpy(borders).to(device),
            shift=torch.from_numpy(borders[:-1] - starts_P).to(device),
            slots=torch.from_numpy(slots_P).to(device),
            token_slots=torch.from_numpy(slots_T).to(device),
        )

    def scores(self, queries: Tensor, tokens: Tensor) -> Tensor:
        """Return the product of each pointer's query [P, D] with the tokens [T, D] of its sequence: [N] float32.

        A bilinear form is a linear map of the queries before. A CPU takes one product per sequence, whose bits depend
        on that sequence alone; for anything else, where starting many small products costs more than they do, all
        sequences are one batched product, unless most of it would be padding.
        """
        if tokens.device.type != "cpu" and self.is_even:
            return self.scores_at_once(queries, tokens)
        parts = zip(queries.split(self.counts), tokens[: sum(self.lengths)].split(self.lengths), strict=True)
        scores = [torch.mm(queries_KD, tokens_LD.t()).float().flatten() for queries_KD, tokens_LD in parts]
        return torch.cat(scores) if scores else tokens.new_zeros(0, dtype=torch.float32)

    @property
    def is_even(self) -> bool:
        """Whether padding all sequences to the longest, and to the most pointers, makes at most `MOST_PADDING` times as
        much of both tokens and candidates."""
        num_padded = len(self.lengths) * max(self.lengths, default=0)
        num_scores = num_padded * max(self.counts, default=0)
        num_candidates = int(np.dot(self.counts, self.lengths))
        return num_padded <= MOST_PADDING * sum(self.lengths) and num_scores <= MOST_PADDING * num_candidates

    def scores_at_once(self, queries: Tensor, tokens: Tensor) -> Tensor:
        """Return what `scores` returns, within rounding, from one product of all sequences, each as long as the
        longest and asked as often as the one that is asked most."""
        num_sequences, longest, most = len(self.lengths), max(self.lengths, default=0), max(self.counts, default=0)
        scores_SKL = products(
            laid_out(queries, self.slots, num_sequences, most),
            laid_out(tokens[: sum(self.lengths)], self.token_slots, num_sequences, longest),
        )
        num_candidates = int(np.dot(self.counts, self.lengths))
        gaps_P = self.slots * longest - self.borders[:-1]
        place_N = torch.arange(num_candidates, device=tokens.device) + spread(gaps_P, self.borders, num_candidates)
        return scores_SKL.flatten().index_select(0, place_N)

    def point(self, scores: Tensor, gold_rows: Tensor) -> Pointed:
        """Return how each pointer, by its scores [N], stands to its one gold row of the pack, [P] int64."""
        return point(scores, self.borders, gold_rows + self.shift)


def _own_slots(counts_S: np.ndarray) -> np.ndarray:
    """Return the slots of all entries where each sequence has a row, with room for the largest count."""
    room = int(counts_S.max(initial=0))
    return slots_of(np.arange(len(counts_S)), counts_S, room, len(counts_S) * room, int(counts_S.sum()))


def slots_of(row_S: np.ndarray, counts_S: np.ndarray, room: int, behind: int, length: int) -> np.ndarray:
    """Return the slots of all entries, sequence after sequence, int64 [length]: those of a sequence without a row, and
    those beyond the last, are `behind`."""
    starts_S = np.cumsum(counts_S) - counts_S
    places = np.arange(counts_S.sum()) + np.repeat(row_S * room - starts_S, counts_S)
    return np.concatenate([np.minimum(places, behind), np.full(length - len(places), behind)])


def laid_out(rows: Tensor, slots: Tensor, num_sequences: int, room: int) -> Tensor:
    """Put rows [N, D] into their slots, zeros into the others: [S, room, D]."""
    laid = rows.new_zeros(num_sequences * room + 1, rows.shape[1]).index_copy(0, slots, rows)
    return laid[:-1].view(num_sequences, room, rows.shape[1])


def products(queries_SKD: Tensor, tokens_SLD: Tensor) -> Tensor:
    """Return the products of all queries with all tokens of their sequence: [S, K, L] float32."""
    return torch.bmm(queries_SKD, tokens_SLD.mT).float()


class _Point(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, borders, gold, owners):
        scores = scores.contiguous()
        if serves(scores):
            best_P, total_P = point_rows(scores, borders)
        else:
            best_P = torch.segment_reduce(scores, "max", offsets=borders, unsafe=True)
            below_N = (scores - spread(best_P, borders, len(scores))).exp()
            total_P = torch.segment_reduce(below_N, "sum", offsets=borders, unsafe=True)
        below_G = scores[gold] - best_P[owners]
        on_top_G = below_G >= 0
        ctx.save_for_backward(scores, borders, gold, owners, best_P, total_P)
        ctx.mark_non_differentiable(on_top_G)
        return below_G - total_P.log()[owners], on_top_G

    @staticmethod
    def backward(ctx, grad_G, _):
        scores, borders, gold, owners, best_P, total_P = ctx.saved_tensors
        gold_borders = torch.searchsorted(owners, torch.arange(len(borders), device=owners.device))
        factor_P = -torch.segment_reduce(grad_G, "sum", offsets=gold_borders, unsafe=True, initial=0) / total_P
        if serves(scores):
            grad_N = scaled_chances(scores, borders, best_P, factor_P)
        else:
            grad_N = (scores - spread(best_P, borders, len(scores))).exp() * spread(factor_P, borders, len(scores))
        return grad_N.index_put((gold,), grad_G, accumulate=True), None, None, None
