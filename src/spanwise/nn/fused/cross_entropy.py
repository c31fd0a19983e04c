"""From logits to losses and, in the logits' own memory, to their gradients: three passes over a row that stays in the
cache, where torch's operators take nine over a block and as many temporary copies.

Letters: C rows, V vocabulary size, Vp = V rounded up to a multiple of 64, P parts that threads compute.
"""

import numpy as np
import torch
from torch import Tensor

from spanwise.runtime.compiled import njit
from spanwise.runtime.float_operations import REORDERED, array_of, exponential, larger, like, widened
from spanwise.runtime.row_threads import in_parts, num_parts


def serves(logits_dtype: torch.dtype, device: torch.device) -> bool:
    """Return whether `cross_entropy_rows` can be used."""
    return device.type == "cpu" and logits_dtype in (torch.float32, torch.bfloat16)


def cross_entropy_rows(
    logits: Tensor, bias: Tensor, target_ids: Tensor, losses: Tensor, vocab_size: int, bias_grad: Tensor | None
) -> int:
    """Write the losses [C] float32 of logits [C, Vp] (without bias [Vp] float32) against target_ids [C].

    With `bias_grad` [Vp] float32, the logits become the gradient of the sum of the losses and what it means for the
    bias is added there; without it the logits stay. Columns from V on take no part: their gradient is zero. A row of
    target -1 has no loss and no gradient. Returns how many rows have the target as their first best id.

    Raises: IndexError for another target outside 0..V-1.
    """
    num_rows = len(target_ids)
    arrays = (array_of(logits), array_of(bias), array_of(target_ids), array_of(losses))
    grads = np.zeros((num_parts(num_rows), bias.shape[0] if bias_grad is not None else 0), dtype=np.float32)
    counts = in_parts(
        lambda part, first, last: _rows(*arrays, vocab_size, first, last, grads[part], bias_grad is not None), num_rows
    )
    if min(counts) < 0:
        raise IndexError(f"a target id is outside the vocabulary of {vocab_size:,} ids.")
    if bias_grad is not None:
        for grad in grads:
            bias_grad += torch.from_numpy(grad)
    return sum(counts)


@njit
def _rows(logits_CV, bias_V, target_C, loss_C, vocab_size, first, last, bias_grad_V, with_grad):
    scores_V = np.empty(vocab_size, dtype=np.float32)
    num_correct = 0
    for c in range(first, last):
        target = target_C[c]
        if target == -1:
            loss_C[c] = 0
            if with_grad:
                logits_CV[c] = 0
            continue
        if target < 0 or target >= vocab_size:
            return -1
        best = _scores(logits_CV[c], bias_V, scores_V)
        target_score = scores_V[target]
        if target_score == best:
            place = 0
            while scores_V[place] != best:
                place += 1
            num_correct += place == target
        total = _exponentials(scores_V, best)
        loss_C[c] = best + np.log(total) - target_score
        if with_grad:
            share = np.float32(1.0) / total
            _gradients(scores_V, share, logits_CV[c], bias_grad_V)
            logits_CV[c, target] = like(scores_V[target] * share - np.float32(1.0), logits_CV[c, target])
            bias_grad_V[target] -= np.float32(1.0)
            logits_CV[c, vocab_size:] = 0
    return num_correct


@njit(fastmath=REORDERED)
def _scores(logits_V, bias_V, scores_V):
    best = np.float32(-np.inf)
    for v in range(len(scores_V)):
        score = widened(logits_V[v]) + bias_V[v]
        scores_V[v] = score
        best = larger(best, score)
    return best


@njit(fastmath=REORDERED)
def _exponentials(scores_V, best):
    total = np.float32(0.0)
    for v in range(len(scores_V)):
        power = exponential(scores_V[v] - best)
        scores_V[v] = power
        total += power
    return total


@njit(fastmath=REORDERED)
def _gradients(powers_V, share, grad_V, bias_grad_V):
    for v in range(len(powers_V)):
        chance = powers_V[v] * share
        bias_grad_V[v] += chance
        grad_V[v] = like(chance, grad_V[v])
