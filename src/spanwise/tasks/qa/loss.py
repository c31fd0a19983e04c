"""The loss of extractive question answering over packed windows.

Letters: T tokens in the pack, S windows.
Source: Devlin et al. 2018 (BERT), section 4.2; FAMILY section 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from spanwise.nn.sequences import Sequences


@dataclass(frozen=True)
class SpanTargets:
    """Rows of the pack, int64 [S], that are the first and the last token of each window's answer.

    A window that does not show its answer points both at its [CLS], its first row.
    """

    first_S: Tensor
    last_S: Tensor


@dataclass(frozen=True)
class SpanLoss:
    """The loss summed over the windows (fp32 scalar) and how many windows have both ends right (detached)."""

    sum: Tensor
    num_correct: Tensor


def span_loss(logits_T2: Tensor, targets: SpanTargets, sequences: Sequences) -> SpanLoss:
    """Mean of the start and the end cross-entropy, each over all positions of its own window; summed over windows."""
    logits_T2 = logits_T2.float()
    offsets = sequences.cu_seqlens.long()
    lengths_S = offsets.diff()
    num_tokens = logits_T2.shape[0]
    highest_S2 = torch.segment_reduce(logits_T2.detach(), "max", offsets=offsets, axis=0, unsafe=True)
    highest_T2 = highest_S2.repeat_interleave(lengths_S, dim=0, output_size=num_tokens)
    # A segmented sum, not index_add: the same order of additions in every run, on the GPU too.
    total_S2 = torch.segment_reduce((logits_T2 - highest_T2).exp(), "sum", offsets=offsets, axis=0, unsafe=True)
    log_total_S2 = total_S2.log() + highest_S2
    gold_S2 = torch.stack([logits_T2[targets.first_S, 0], logits_T2[targets.last_S, 1]], dim=1)
    with torch.no_grad():
        num_correct = (gold_S2 >= highest_S2).all(dim=1).sum()
    return SpanLoss(sum=(log_total_S2 - gold_S2).sum() * 0.5, num_correct=num_correct)
