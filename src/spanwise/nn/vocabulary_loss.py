"""Cross-entropy over the vocabulary for gathered rows, without ever holding all logits.

Letters: N rows, C rows of one chunk, D hidden size, V vocabulary size, Vp = V rounded up to a multiple of 64.

The N x V logits are the largest tensors of pre-training: at 30,000 ids and 600 targets they weigh 73 MB each in
float32, and a plain graph keeps three of them. Here the gradients are made in the forward pass, a chunk of rows at a
time; a chunk's logits are gone when the next begins. Under autocast the three products run in bfloat16, and the
softmax, the loss and the sums over chunks in float32.

Padded rows of the table get a bias of minus infinity, so their probability and gradient are exactly zero.
No id is special: token id 0 is a legal target (FAMILY trap 7B-23).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK_BYTES = {"cpu": 1 << 25, "cuda": 1 << 28}  # float32 logits of one chunk; larger gained nothing on a CPU


@dataclass(frozen=True)
class VocabularyLoss:
    """Cross-entropy in nats, summed over the rows."""

    sum: Tensor  # scalar float32, differentiable
    num_correct: Tensor  # scalar int64: rows whose most likely id is the target
    losses: Tensor | None = None  # [N] float32, not differentiable, on request


def vocabulary_loss(
    rows: Tensor,
    weight: Tensor,
    bias: Tensor,
    target_ids: Tensor,
    vocab_size: int,
    chunk_rows: int | None = None,
    per_row: bool = False,
) -> VocabularyLoss:
    """Loss of rows [N, D] against target_ids [N], with decoder weight [Vp, D] and bias [Vp].

    With N = 0 the sum is 0 and every input still gets a gradient of zeros. chunk_rows: rows whose logits are held at
    once (None: about 32 MB of them on a CPU). per_row: also return the N losses.
    """
    device = rows.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else rows.dtype
    if chunk_rows is None:
        chunk_rows = max(16, CHUNK_BYTES.get(device, 1 << 28) // (4 * weight.shape[0]) // 16 * 16)
    with_grad = torch.is_grad_enabled() and (rows.requires_grad or weight.requires_grad or bias.requires_grad)
    total, num_correct, losses = _ChunkedCrossEntropy.apply(
        rows, weight, bias, target_ids, vocab_size, chunk_rows, dtype, with_grad
    )
    return VocabularyLoss(total, num_correct, losses if per_row else None)


def vocabulary_logits(rows: Tensor, weight: Tensor, bias: Tensor, vocab_size: int) -> Tensor:
    """Scores [N, V] float32 of the V real ids, for the few rows that a person wants to look at."""
    return F.linear(rows, weight[:vocab_size], bias[:vocab_size]).float()


class _ChunkedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, weight, bias, target_ids, vocab_size, chunk_rows, dtype, with_grad):
        num_rows = rows.shape[0]
        rows_ND, weight_VD, bias_V = rows.to(dtype), weight.to(dtype), bias.to(dtype, copy=True)
        bias_V[vocab_size:] = float("-inf")
        losses_N = torch.empty(num_rows, dtype=torch.float32, device=rows.device)
        num_correct = torch.zeros((), dtype=torch.int64, device=rows.device)
        grads = _Gradients(rows, weight, bias) if with_grad else None
        for begin in range(0, num_rows, chunk_rows):
            chunk = slice(begin, begin + chunk_rows)
            target_C1 = target_ids[chunk].unsqueeze(1)
            logits_CV = F.linear(rows_ND[chunk], weight_VD, bias_V)
            scores_CV = logits_CV.float()
            best_C1, target_score_C1 = scores_CV.amax(-1, keepdim=True), scores_CV.gather(1, target_C1)
            num_correct += _count_correct(scores_CV, best_C1, target_score_C1, target_C1)
            p_CV = _softmax_in_place(scores_CV)
            # log-sum-exp from the greatest probability, which never underflows: p_max = exp(best - lse)
            lse_C1 = best_C1 - p_CV.amax(-1, keepdim=True).log()
            losses_N[chunk] = (lse_C1 - target_score_C1).squeeze(1)
            if grads is not None:
                p_CV.scatter_add_(1, target_C1, p_CV.new_full((1, 1), -1.0).expand_as(target_C1))
                grad_CV = p_CV if dtype == torch.float32 else logits_CV.copy_(p_CV)
                grads.add(chunk, grad_CV, rows_ND[chunk], weight_VD)
        ctx.grads = grads
        ctx.mark_non_differentiable(num_correct, losses_N)
        return losses_N.sum(), num_correct, losses_N

    @staticmethod
    def backward(ctx, grad_sum, _grad_correct, _grad_losses):
        grads, ctx.grads = ctx.grads, None
        if grads is None:
            raise RuntimeError("vocabulary_loss keeps its gradients for one backward only; call it again for another.")
        return *grads.scaled(grad_sum), None, None, None, None, None


class _Gradients:
    """Gradients of one loss sum, gathered chunk by chunk in float32."""

    def __init__(self, rows: Tensor, weight: Tensor, bias: Tensor) -> None:
        self.rows_ND = torch.empty_like(rows)
        self.bias_V = torch.zeros_like(bias, dtype=torch.float32)
        # the first chunk fills the table, so it needn't be cleared unless there is none
        new_table = torch.empty if len(rows) else torch.zeros
        self.weight_VD = new_table(weight.shape, dtype=torch.float32, device=weight.device)
        self.types = (rows.dtype, weight.dtype, bias.dtype)

    def add(self, chunk: slice, grad_CV: Tensor, rows_CD: Tensor, weight_VD: Tensor) -> None:
        self.rows_ND[chunk] = torch.mm(grad_CV, weight_VD)
        self.bias_V += grad_CV.sum(0)
        first = chunk.start == 0
        if grad_CV.dtype == torch.float32 and not first:
            self.weight_VD.addmm_(grad_CV.t(), rows_CD)
        elif first:
            self.weight_VD.copy_(torch.mm(grad_CV.t(), rows_CD))
        else:
            self.weight_VD += torch.mm(grad_CV.t(), rows_CD)

    def scaled(self, factor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients of rows, weight and bias times the gradient of the sum; gives up its own buffers."""
        grads = (self.rows_ND, self.weight_VD, self.bias_V)
        return tuple(grad.mul_(factor).to(dtype) for grad, dtype in zip(grads, self.types, strict=True))


def _softmax_in_place(scores_CV: Tensor) -> Tensor:
    """Softmax over ids; on a CPU in the memory of the scores, which halves the traffic."""
    return torch.softmax(scores_CV, -1, out=scores_CV) if scores_CV.device.type == "cpu" else scores_CV.softmax(-1)


def _count_correct(scores_CV: Tensor, best_C1: Tensor, target_score_C1: Tensor, target_C1: Tensor) -> Tensor:
    """Rows whose first best id is the target. A CPU looks for the best id only where the target ties with it."""
    if scores_CV.device.type != "cpu":
        return (scores_CV.argmax(-1, keepdim=True) == target_C1).sum()
    hit = (best_C1 == target_score_C1).squeeze(1).nonzero().squeeze(1)
    return (scores_CV[hit].argmax(-1) == target_C1[hit].squeeze(1)).sum()
