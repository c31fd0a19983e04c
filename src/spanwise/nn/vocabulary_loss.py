"""Cross-entropy over the vocabulary for gathered rows, without ever holding all logits.

Letters: N rows, C rows of one chunk, D hidden size, V vocabulary size, Vp = V rounded up to a multiple of 64.

The N x V logits are the largest tensors of pre-training: at 30,000 ids and 600 targets they weigh 73 MB each in
float32, and a plain graph keeps three of them. Here the gradients are made in the forward pass, a chunk of rows at a
time; a chunk's logits are gone when the next begins. Under autocast the three products run in bfloat16, and the
softmax, the loss and the sums over chunks in float32.

Padded rows of the table get a bias of minus infinity, so their probability and gradient are exactly zero.
No id is special: token id 0 is a legal target.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.nn.fused.add import add_rows
from spanwise.nn.fused.cross_entropy import cross_entropy_rows, serves
from spanwise.nn.sampling import Sampling, draw_block
from spanwise.runtime.row_counts import rounded_rows

DEAD = -1
"""The target id of a row that is no target: it has no loss and no gradient, and is never right."""
CHUNK_LOGITS = {"cpu": 1 << 24, "cuda": 1 << 27}  # held at once: 32 MiB in bf16 on a CPU
BLOCK_BYTES = 1 << 21  # float32 scores of one block of a chunk, on a CPU
SLICE_ROWS = 4096


@dataclass(frozen=True)
class VocabularyLoss:
    """Cross-entropy in nats, summed over the rows."""

    is_log_likelihood: ClassVar[bool] = True

    sum: Tensor  # scalar float32, differentiable
    num_correct: Tensor  # scalar int64: rows whose most likely id is the target
    losses: Tensor | None = None  # [N] float32, not differentiable, on request
    samples: Tensor | None = None  # [N] int64, ids drawn from the rows' own chances, on request


def vocabulary_loss(
    rows: Tensor,
    weight: Tensor,
    bias: Tensor,
    target_ids: Tensor,
    vocab_size: int,
    chunk_rows: int | None = None,
    per_row: bool = False,
    sampling: Sampling | None = None,
) -> VocabularyLoss:
    """Loss of rows [N, D] against target_ids [N], with decoder weight [Vp, D] and bias [Vp].

    Rows whose target is DEAD take no part. With N = 0 the sum is 0 and every input still gets a gradient of zeros.
    chunk_rows: rows whose logits are held at once (None: as CHUNK_LOGITS says). per_row: also return the N losses.
    sampling: also draw an id per row; no gradient flows through it, and the chances are those that the loss has
    computed anyway.
    """
    if torch.compiler.is_compiling():
        return _traced(rows, weight, bias, target_ids, vocab_size, per_row, sampling)
    device = rows.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else rows.dtype
    if chunk_rows is None:
        chunk_rows = max(16, CHUNK_LOGITS.get(device, 1 << 27) // weight.shape[0])
    with_grad = torch.is_grad_enabled() and (rows.requires_grad or weight.requires_grad or bias.requires_grad)
    total, num_correct, losses, samples = _ChunkedCrossEntropy.apply(
        rows, weight, bias, target_ids, vocab_size, chunk_rows, dtype, with_grad, sampling
    )
    return VocabularyLoss(total, num_correct, losses if per_row else None, samples if sampling else None)


def vocabulary_logits(rows: Tensor, weight: Tensor, bias: Tensor, vocab_size: int) -> Tensor:
    """Scores [N, V] float32 of the V real ids, for the few rows that a person wants to look at."""
    return F.linear(rows, weight[:vocab_size], bias[:vocab_size]).float()


def _traced(
    rows: Tensor,
    weight: Tensor,
    bias: Tensor,
    target_ids: Tensor,
    vocab_size: int,
    per_row: bool,
    sampling: Sampling | None,
) -> VocabularyLoss:
    """The same in operators that a compiler fuses. All logits are there at once, in the type of the product."""
    is_id_V = torch.arange(len(bias), device=bias.device) < vocab_size
    scores_NV = F.linear(rows, weight).float() + torch.where(is_id_V, bias.float(), -torch.inf)
    losses_N = F.cross_entropy(scores_NV, target_ids, ignore_index=DEAD, reduction="none")
    num_correct = (scores_NV.argmax(-1) == target_ids).sum()
    samples_N = None
    if sampling is not None:
        place_N1 = target_ids.clamp(min=0).unsqueeze(1)
        samples_N = draw_block(scores_NV.detach().softmax(-1), sampling.uniform, place_N1, sampling)
    return VocabularyLoss(losses_N.sum(), num_correct, losses_N.detach() if per_row else None, samples_N)


class _ChunkedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, weight, bias, target_ids, vocab_size, chunk_rows, dtype, with_grad, sampling):
        num_rows, num_ids = rows.shape[0], weight.shape[0]
        weight_VD = weight.to(dtype)
        bias_V = bias.to(torch.float32, copy=True)
        bias_V[vocab_size:] = float("-inf")
        losses_N = torch.empty(num_rows, dtype=torch.float32, device=rows.device)
        samples_N = torch.empty(num_rows if sampling else 0, dtype=torch.int64, device=rows.device)
        num_correct = torch.zeros((), dtype=torch.int64, device=rows.device)
        grads = _Gradients(rows, weight, bias) if with_grad else None
        # equal chunks in one buffer: fresh memory of this size costs as much as the arithmetic on it
        num_chunks = max(1, -(-num_rows // chunk_rows))
        chunk_rows = max(1, -(-num_rows // num_chunks))
        if dtype == torch.bfloat16 and rows.device.type == "cpu":
            chunk_rows = rounded_rows(chunk_rows)  # rows of zeros fill the last chunk
            rows_ND = rows.new_zeros(-(-num_rows // chunk_rows) * chunk_rows, rows.shape[1], dtype=dtype)
            rows_ND[:num_rows] = rows
        else:
            rows_ND = rows.to(dtype)
        buffer_CV = rows_ND.new_empty(min(chunk_rows, len(rows_ND)), num_ids)
        for begin in range(0, num_rows, chunk_rows):
            chunk = slice(begin, min(begin + chunk_rows, len(rows_ND)))
            last = min(chunk.stop, num_rows)
            logits_CV = torch.mm(rows_ND[chunk], weight_VD.t(), out=buffer_CV[: chunk.stop - begin])
            drawn = None if sampling is None else (sampling, sampling.uniform[begin:last], samples_N[begin:last])
            num_correct += _finish_chunk(
                logits_CV[: last - begin],
                bias_V,
                target_ids[begin:last],
                losses_N[begin:last],
                vocab_size,
                grads,
                drawn,
            )
            if grads is not None:
                logits_CV[last - begin :] = 0.0  # filler has no gradient
                grads.add(slice(begin, last), logits_CV, rows_ND[chunk], weight_VD)
        ctx.grads = grads
        ctx.mark_non_differentiable(num_correct, losses_N, samples_N)
        return losses_N.sum(), num_correct, losses_N, samples_N

    @staticmethod
    def backward(ctx, grad_sum, *_):
        grads, ctx.grads = ctx.grads, None
        if grads is None:
            raise RuntimeError("vocabulary_loss keeps its gradients for one backward only; call it again for another.")
        return *grads.scaled(grad_sum), None, None, None, None, None, None


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
        """Add what the gradient of a chunk's logits, filler included, means for its rows and for the table."""
        self.rows_ND[chunk] = torch.mm(grad_CV, weight_VD)[: chunk.stop - chunk.start]
        is_first = chunk.start == 0
        if grad_CV.dtype == torch.float32:
            torch.addmm(self.weight_VD, grad_CV.t(), rows_CD, beta=0 if is_first else 1, out=self.weight_VD)
            return
        # slice by slice: each share is added, or copied, while it is in the cache
        for total, grad_CS in zip(self.weight_VD.split(SLICE_ROWS), grad_CV.split(SLICE_ROWS, dim=1), strict=True):
            share = torch.mm(grad_CS.t(), rows_CD)
            if serves(share.dtype, share.device):
                add_rows(total, share, fresh=is_first)
            elif is_first:
                total.copy_(share)
            else:
                total += share

    def scaled(self, factor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients of rows, weight and bias times the gradient of the sum; gives up its own buffers."""
        rows_type, weight_type, bias_type = self.types
        return (
            self.rows_ND.mul_(factor).to(rows_type),
            self.weight_VD.mul_(factor).to(weight_type),
            self.bias_V.mul_(factor).to(bias_type),
        )


def _finish_chunk(
    logits_CV: Tensor,
    bias_V: Tensor,
    target_C: Tensor,
    losses_C: Tensor,
    vocab_size: int,
    grads: _Gradients | None,
    drawn: tuple[Sampling, Tensor, Tensor] | None,
) -> Tensor | int:
    """From logits without bias to losses, to the number of right guesses and, in their own memory, to gradients; and
    where ids are drawn (how, uniform numbers [C], where they go [C]) to those."""
    if drawn is None and serves(logits_CV.dtype, logits_CV.device):
        of_bias = grads.bias_V if grads is not None else None
        return cross_entropy_rows(logits_CV, bias_V, target_C, losses_C, vocab_size, of_bias)
    block_rows = max(1, BLOCK_BYTES // (4 * len(bias_V))) if logits_CV.device.type == "cpu" else len(logits_CV)
    num_correct = torch.zeros((), dtype=torch.int64, device=logits_CV.device)
    for first in range(0, len(logits_CV), block_rows):
        block = slice(first, first + block_rows)
        drawn_B = None if drawn is None else (drawn[0], drawn[1][block], drawn[2][block])
        num_correct += _finish_block(
            logits_CV[block], bias_V, target_C[block].unsqueeze(1), losses_C[block], grads, drawn_B
        )
    return num_correct


def _finish_block(
    logits_BV: Tensor,
    bias_V: Tensor,
    target_B1: Tensor,
    losses_B: Tensor,
    grads: _Gradients | None,
    drawn: tuple[Sampling, Tensor, Tensor] | None,
) -> Tensor:
    """`_finish_chunk` by torch's own operators.

    A block is small enough for its float32 scores to stay in the second-level cache through all passes.
    """
    scores_BV = logits_BV if logits_BV.dtype == torch.float32 else logits_BV.float()
    scores_BV += bias_V
    is_dead_B1, place_B1 = target_B1 < 0, target_B1.clamp(min=0)
    best_B1, target_score_B1 = scores_BV.amax(-1, keepdim=True), scores_BV.gather(1, place_B1)
    num_correct = _count_correct(scores_BV, best_B1, target_score_B1, target_B1)
    in_place = scores_BV if scores_BV.device.type == "cpu" else None
    p_BV = torch.softmax(scores_BV, -1, out=in_place)
    # log-sum-exp from the greatest probability, which never underflows: p_max = exp(best - lse)
    lse_B1 = best_B1 - p_BV.amax(-1, keepdim=True).log()
    losses_B.copy_((lse_B1 - target_score_B1).masked_fill(is_dead_B1, 0.0).squeeze(1))
    if drawn is not None:
        sampling, uniform_B, samples_B = drawn
        samples_B.copy_(draw_block(p_BV, uniform_B, place_B1, sampling))
    if grads is not None:
        p_BV.scatter_add_(1, place_B1, p_BV.new_full((1, 1), -1.0).expand_as(place_B1))
        p_BV.masked_fill_(is_dead_B1, 0.0)
        grads.bias_V += p_BV.sum(0)
        if p_BV is not logits_BV:
            logits_BV.copy_(p_BV)
    return num_correct


def _count_correct(scores_CV: Tensor, best_C1: Tensor, target_score_C1: Tensor, target_C1: Tensor) -> Tensor:
    """Rows whose first best id is the target. A CPU looks for the best id only where the target ties with it."""
    if scores_CV.device.type != "cpu":
        return (scores_CV.argmax(-1, keepdim=True) == target_C1).sum()
    hit = (best_C1 == target_score_C1).squeeze(1).nonzero().squeeze(1)
    return (scores_CV[hit].argmax(-1) == target_C1[hit].squeeze(1)).sum()
