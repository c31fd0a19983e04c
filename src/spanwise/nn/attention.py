"""Self-attention inside the sequences of a pack. `attend()` is the one place that chooses a kernel.

Letters: T tokens in the pack, S sequences, L tokens of one sequence, H heads, K size of a head, D = H x K.

- CPU: one autograd node for the whole pack that walks over its sequences with batched products and keeps the
  probabilities. Measured on paragraphs of mean 127 tokens (forward and backward, one core): 1.3x the speed of SDPA a
  sequence in float32, 3x in bfloat16, where the backward of the fused CPU kernel is slow. Joining sequences of like
  length into padded products gains 10 to 20 % in bfloat16 and loses as much in float32, so it isn't done.
- CUDA in half precision: `torch.nn.attention.varlen`, one call for the pack.
- Everything else (float32 on CUDA, dropout of probabilities, unusual head sizes): SDPA a sequence.

Source: Vaswani et al. 2017, section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.nn.config import EncoderConfig
from spanwise.nn.sequences import Sequences

LENGTH_MULTIPLE = 16
Context = Callable[[Tensor], Tensor]
"""What the tokens of a layer see: queries, keys and values [T, 3D] -> what each token takes from the others [T, D]."""


def packed_contexts(config: EncoderConfig, sequences: Sequences, training: bool) -> list[Context]:
    """Return the context of every layer where all tokens of the pack are computed at once."""
    dropout = config.attention_dropout if training else 0.0

    def attention(qkv: Tensor) -> Tensor:
        return attend(qkv, sequences, config.num_heads, dropout, causal=config.causal)

    return [attention] * config.num_layers


def attend(qkv: Tensor, sequences: Sequences, num_heads: int, dropout: float = 0.0, *, causal: bool = False) -> Tensor:
    """Let every token attend to all tokens of its own sequence, or with `causal` to itself and those before it.

    qkv: [T, 3D], queries, keys and values side by side. dropout: chance to drop a probability (0 outside training).
    Returns [T, D] in the type of `qkv`. No host-device synchronisation: lengths are known on the host.
    """
    if dropout == 0.0 and qkv.device.type == "cpu":
        return _PackedAttention.apply(qkv.contiguous(), sequences.lengths, num_heads, causal)
    head_size = qkv.shape[1] // (3 * num_heads)
    has_kernel = qkv.dtype in (torch.float16, torch.bfloat16) and head_size % 8 == 0 and head_size <= 256
    if dropout == 0.0 and qkv.device.type == "cuda" and has_kernel:
        return _attend_varlen(qkv, sequences, num_heads, causal)
    return _attend_each(qkv, sequences.lengths, num_heads, dropout, causal)


@dataclass(frozen=True)
class _Window:
    """The rows of a pack that one sequence's products read: its own, and perhaps some of its neighbours."""

    begin: int
    end: int
    first: int  # the sequence's first row, counted from `begin`
    last: int  # one past its last row


def _windows(lengths: tuple[int, ...], num_tokens: int, multiple: int) -> Iterator[_Window]:
    """One window a sequence, its size rounded up to `multiple` where the pack has as many rows."""
    start = 0
    for length in lengths:
        size = min(-(-length // multiple) * multiple, num_tokens)
        begin = min(start, num_tokens - size)
        yield _Window(begin, begin + size, start - begin, start - begin + length)
        start += length


class _PackedAttention(torch.autograd.Function):
    """softmax(q kᵀ / √K) v for each sequence, with its gradient, as one node.

    Rows of neighbours inside a window take no part: their columns get a score of minus infinity and their rows of
    probabilities are cleared, which makes every gradient that passes there zero. Later tokens get minus infinity from
    the matrix that the product of queries and keys is added to, which costs nothing beside the product.
    """

    @staticmethod
    def forward(ctx, qkv: Tensor, lengths: tuple[int, ...], num_heads: int, causal: bool) -> Tensor:
        T, D = qkv.shape[0], qkv.shape[1] // 3
        K = D // num_heads
        qkv_T3HK = qkv.view(T, 3, num_heads, K)
        out_THK = qkv.new_empty(T, num_heads, K)
        zero = qkv.new_zeros(())
        multiple = 1 if qkv.dtype == torch.float32 else LENGTH_MULTIPLE
        windows = list(_windows(lengths, T, multiple))
        longest = max((window.end - window.begin for window in windows), default=0)
        later_LL = qkv.new_full((longest, longest), float("-inf")).triu_(1) if causal else None
        probabilities = []
        for window in windows:
            first, last = window.first, window.last
            q_HLK, k_HLK, v_HLK = qkv_T3HK[window.begin : window.end].permute(1, 2, 0, 3).unbind(0)
            L = window.end - window.begin
            bias, beta = (zero, 0) if later_LL is None else (later_LL[:L, :L], 1)
            p_HLL = torch.baddbmm(bias, q_HLK, k_HLK.transpose(1, 2), beta=beta, alpha=K**-0.5)
            for outside in _outside(window):
                p_HLL[:, :, outside] = float("-inf")
            p_HLL = torch.softmax(p_HLL, -1)
            for outside in _outside(window):
                p_HLL[:, outside] = 0.0
            mixed_LHK = torch.bmm(p_HLL, v_HLK).transpose(0, 1)
            out_THK[window.begin + first : window.begin + last].copy_(mixed_LHK[first:last])
            if ctx.needs_input_grad[0]:
                probabilities.append(p_HLL)
        ctx.save_for_backward(qkv, *probabilities)
        ctx.windows, ctx.num_heads = windows, num_heads
        return out_THK.view(T, D)

    @staticmethod
    def backward(ctx, grad: Tensor):
        qkv, *probabilities = ctx.saved_tensors
        H, (T, D) = ctx.num_heads, grad.shape
        K = D // H
        qkv_T3HK = qkv.view(T, 3, H, K)
        grad_THK = grad.reshape(T, H, K)
        grad_T3HK = torch.empty_like(qkv_T3HK)
        for window, p_HLL in zip(ctx.windows, probabilities, strict=True):
            first, last = window.first, window.last
            rows = slice(window.begin, window.end)
            q_HLK, k_HLK, v_HLK = qkv_T3HK[rows].permute(1, 2, 0, 3).unbind(0)
            grad_HLK = grad_THK[rows].transpose(0, 1)
            grad_p = torch.bmm(grad_HLK, v_HLK.transpose(1, 2))
            grad_scores = torch._softmax_backward_data(grad_p, p_HLL, -1, p_HLL.dtype).mul_(K**-0.5)
            grads = grad_T3HK[window.begin + first : window.begin + last].permute(1, 2, 0, 3)
            grads[0].copy_(torch.bmm(grad_scores, k_HLK)[:, first:last])
            grads[1].copy_(torch.bmm(grad_scores.transpose(1, 2), q_HLK)[:, first:last])
            grads[2].copy_(torch.bmm(p_HLL.transpose(1, 2), grad_HLK)[:, first:last])
        return grad_T3HK.view(T, 3 * D), None, None, None


def _outside(window: _Window) -> list[slice]:
    """The parts of a window that belong to neighbours."""
    size = window.end - window.begin
    parts = (slice(0, window.first), slice(window.last, size))
    return [part for part in parts if part.start < part.stop]


def _attend_varlen(qkv: Tensor, sequences: Sequences, num_heads: int, causal: bool) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn  # CUDA builds only

    T, D = qkv.shape[0], qkv.shape[1] // 3
    q_THK, k_THK, v_THK = qkv.view(T, 3, num_heads, D // num_heads).unbind(1)
    borders, longest = sequences.cu_seqlens, sequences.max_length
    seen = (-1, 0) if causal else (-1, -1)  # how many tokens before and after; -1 is all
    out_THK = varlen_attn(q_THK, k_THK, v_THK, borders, borders, longest, longest, window_size=seen)
    assert isinstance(out_THK, Tensor)  # a tuple only where log-sum-exps are asked for
    return out_THK.reshape(T, D)


def _attend_each(qkv: Tensor, lengths: tuple[int, ...], num_heads: int, dropout: float, causal: bool) -> Tensor:
    D = qkv.shape[1] // 3
    outs = []
    for part in qkv.split(lengths):
        qkv_3HLK = part.view(part.shape[0], 3, num_heads, D // num_heads).permute(1, 2, 0, 3)
        q_HLK, k_HLK, v_HLK = qkv_3HLK.unsqueeze(1).unbind(0)
        out_HLK = F.scaled_dot_product_attention(q_HLK, k_HLK, v_HLK, dropout_p=dropout, is_causal=causal)[0]
        outs.append(out_HLK.transpose(0, 1).reshape(part.shape[0], D))
    return torch.cat(outs)
