"""Self-attention of a whole pack on a CPU: one autograd node that walks over its sequences and keeps the probabilities.
Inside a compiled region it is an operator of its own, which computes them again for the gradient.

Measured on paragraphs of mean 127 tokens (forward and backward, one core): 1.3x the speed of SDPA per sequence in
float32, 3x in bfloat16, where the backward of the fused CPU kernel is slow. Joining sequences of like length into
padded products gains 10 to 20 % in bfloat16 and loses as much in float32, so it isn't done. Where tokens see a window
alone, a long sequence is computed in blocks of queries, each with the keys that it can reach.

Each thread computes sequences of its own: products of one are too small for several threads, which gain 5 % of a whole
training step at 4 x 256 on two cores by not sharing them.

Letters: T tokens in the pack, L queries and M keys of one block, H heads, K size of a head, D = H x K.
"""

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from spanwise.runtime.row_threads import shares_threads, side_by_side

LENGTH_MULTIPLE = 16
FEWEST_QUERIES = 64  # of a block
LEAST_WORK = 8 * 64 * 64  # scores of one head that are worth more than one thread


class Reach(NamedTuple):
    """How many tokens before and after itself a token sees; None is all."""

    before: int | None
    after: int | None

    def covers(self, length: int) -> bool:
        """Return whether every token sees all of a sequence of this length."""
        return all(side is None or side >= length - 1 for side in self)


EVERYTHING = Reach(None, None)


class _Rows(NamedTuple):
    """Rows of a pack that a product reads: those it is about, and perhaps some of their neighbours."""

    begin: int
    end: int
    first: int  # the first row that it is about, counted from `begin`
    last: int  # one past the last

    @property
    def all(self) -> slice:
        return slice(self.begin, self.end)

    @property
    def own(self) -> slice:
        """The rows that it is about, in the pack."""
        return slice(self.begin + self.first, self.begin + self.last)

    @property
    def outside(self) -> list[slice]:
        """The neighbours, counted from `begin`."""
        parts = (slice(0, self.first), slice(self.last, self.end - self.begin))
        return [part for part in parts if part.start < part.stop]


class _Block(NamedTuple):
    """Queries, and the keys that they can see."""

    queries: _Rows
    keys: _Rows
    is_masked: bool  # whether some of these queries can't see some of these keys


def _rows(start: int, length: int, num_tokens: int, multiple: int) -> _Rows:
    """Return rows whose number is rounded up to `multiple` where the pack has as many."""
    size = min(-(-length // multiple) * multiple, num_tokens)
    begin = min(start, num_tokens - size)
    return _Rows(begin, begin + size, start - begin, start - begin + length)


def _blocks(lengths: tuple[int, ...], num_tokens: int, multiple: int, reach: Reach) -> Iterator[_Block]:
    """Return one block per sequence, or several of a sequence that is long beside the window."""
    before, after = reach
    span = 0 if before is None or after is None else max(before + after, FEWEST_QUERIES)
    start = 0
    for length in lengths:
        if not span or length <= 2 * span:
            rows = _rows(start, length, num_tokens, multiple)
            yield _Block(rows, rows, not reach.covers(length))
        else:
            for begin in range(start, start + length, span):
                end = min(begin + span, start + length)
                first, last = max(start, begin - (before or 0)), min(start + length, end + (after or 0))
                queries = _rows(begin, end - begin, num_tokens, multiple)
                yield _Block(queries, _rows(first, last - first, num_tokens, multiple), True)
        start += length


def _each(compute: Callable[[int], None], blocks: list[_Block]) -> None:
    """Call `compute(place)` for every block, each thread for neighbours with about its share of the products. Blocks
    that share keys stay together."""
    work = [(q.end - q.begin) * (k.end - k.begin) for q, k, _ in blocks]
    # a mode that watches operators, of torch or of a person's own, is one of this thread
    is_apart = sum(work) >= LEAST_WORK and shares_threads() and not torch._C._len_torch_dispatch_stack()
    num_parts = torch.get_num_threads() if is_apart else 1
    borders, done, seen = [0], 0, 0  # seen: the first row that no block so far has as a key
    for place, block in enumerate(blocks):
        own = block.keys.own
        if own.start >= seen and done * num_parts >= sum(work) * len(borders):
            borders.append(place)
        done, seen = done + work[place], max(seen, own.stop)
    borders.append(len(blocks))
    is_inference = torch.is_inference_mode_enabled()

    def some(first: int, last: int) -> None:
        # a thread has modes of its own; without autocast the type is that of qkv in each
        with torch.inference_mode(is_inference), torch.autocast("cpu", enabled=False):
            for place in range(first, last):
                compute(place)

    side_by_side([functools.partial(some, *pair) for pair in itertools.pairwise(borders)])


def mask(reach: Reach, offset: int, num_queries: int, num_keys: int, like: Tensor) -> Tensor:
    """Return what is added to scores [L, M], minus infinity for keys out of reach. Query 0 stands at key `offset`."""
    place_L = torch.arange(offset, offset + num_queries, device=like.device)
    distance_LM = place_L[:, None] - torch.arange(num_keys, device=like.device)
    mask_LM = like.new_zeros(num_queries, num_keys)
    if reach.before is not None:
        mask_LM.masked_fill_(distance_LM > reach.before, float("-inf"))
    if reach.after is not None:
        mask_LM.masked_fill_(distance_LM < -reach.after, float("-inf"))
    return mask_LM


class PackedAttention(torch.autograd.Function):
    """softmax(q kᵀ / √K) v for each sequence, with its gradient, as one node: qkv [T, 3D] -> [T, D].

    Rows of neighbours inside a block take no part: their columns get a score of minus infinity and their rows of
    probabilities are cleared, which makes every gradient that passes there zero. What is out of reach gets minus
    infinity from the matrix that the product of queries and keys is added to, which costs nothing beside the product.
    """

    @staticmethod
    def forward(ctx, qkv: Tensor, lengths: tuple[int, ...], num_heads: int, reach: Reach) -> Tensor:
        out, blocks, probabilities = _forward(qkv, lengths, num_heads, reach, keep=ctx.needs_input_grad[0])
        ctx.save_for_backward(qkv, *probabilities)
        ctx.blocks, ctx.num_heads, ctx.is_split = blocks, num_heads, len(blocks) > len(lengths)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):
        qkv, *probabilities = ctx.saved_tensors
        return _backward(grad, qkv, ctx.blocks, probabilities, ctx.num_heads, ctx.is_split), None, None, None


def _forward(
    qkv: Tensor, lengths: tuple[int, ...], num_heads: int, reach: Reach, keep: bool
) -> tuple[Tensor, list[_Block], list[Tensor]]:
    """What each token takes from the others [T, D], the blocks that were walked over, and where they are to be kept
    their probabilities [H, L, M]."""
    T, D = qkv.shape[0], qkv.shape[1] // 3
    K = D // num_heads
    q_THK, k_THK, v_THK = qkv.detach().view(T, 3, num_heads, K).unbind(1)
    out_THK = qkv.new_empty(T, num_heads, K)
    zero = qkv.new_zeros(())
    multiple = 1 if qkv.dtype == torch.float32 else LENGTH_MULTIPLE
    blocks = list(_blocks(lengths, T, multiple, reach))
    out_of_reach = _Masks(reach, blocks, qkv)
    probabilities: dict[int, Tensor] = {}

    def attend(place: int) -> None:
        block = blocks[place]
        queries, keys, is_masked = block
        q_HLK = q_THK[queries.all].transpose(0, 1)
        k_HKM = k_THK[keys.all].permute(1, 2, 0)
        bias, beta = (out_of_reach.of(block), 1) if is_masked else (zero, 0)
        p_HLM = torch.baddbmm(bias, q_HLK, k_HKM, beta=beta, alpha=K**-0.5)
        for outside in keys.outside:
            p_HLM[:, :, outside] = float("-inf")
        p_HLM = torch.softmax(p_HLM, -1)
        for outside in queries.outside:
            p_HLM[:, outside] = 0.0
        mixed_LHK = torch.bmm(p_HLM, v_THK[keys.all].transpose(0, 1)).transpose(0, 1)
        out_THK[queries.own].copy_(mixed_LHK[queries.first : queries.last])
        if keep:
            probabilities[place] = p_HLM

    _each(attend, blocks)
    return out_THK.view(T, D), blocks, [probabilities[place] for place in range(len(probabilities))]


def _backward(
    grad: Tensor, qkv: Tensor, blocks: list[_Block], probabilities: list[Tensor], num_heads: int, is_split: bool
) -> Tensor:
    """The gradient of qkv [T, 3D]. is_split: keys may be in several blocks."""
    H, (T, D) = num_heads, grad.shape
    K = D // H
    q_THK, k_THK, v_THK = qkv.detach().view(T, 3, H, K).unbind(1)
    grad_THK = grad.detach().reshape(T, H, K)
    grad_T3HK = (torch.zeros_like if is_split else torch.empty_like)(qkv.view(T, 3, H, K))
    of_q, of_k, of_v = grad_T3HK.unbind(1)
    put = Tensor.add_ if is_split else Tensor.copy_

    def attend(place: int) -> None:
        (queries, keys, _), p_HLM = blocks[place], probabilities[place]
        q_HLK, k_HMK, v_HMK = (part.transpose(0, 1) for part in (q_THK[queries.all], k_THK[keys.all], v_THK[keys.all]))
        grad_HLK = grad_THK[queries.all].transpose(0, 1)
        grad_p = torch.bmm(grad_HLK, v_HMK.transpose(1, 2))
        grad_scores = torch._softmax_backward_data(grad_p, p_HLM, -1, p_HLM.dtype).mul_(K**-0.5)
        own = slice(keys.first, keys.last)
        of_q[queries.own].copy_(torch.bmm(grad_scores, k_HMK).transpose(0, 1)[queries.first : queries.last])
        put(of_k[keys.own], torch.bmm(grad_scores.transpose(1, 2), q_HLK).transpose(0, 1)[own])
        put(of_v[keys.own], torch.bmm(p_HLM.transpose(1, 2), grad_HLK).transpose(0, 1)[own])

    _each(attend, blocks)
    return grad_T3HK.view(T, 3 * D)


ALL = -1  # of an operator's window: no limit


@torch.library.custom_op("spanwise::packed_attention", mutates_args=())
def packed_attention(qkv: Tensor, borders: Tensor, num_heads: int, before: int, after: int) -> Tensor:
    """`PackedAttention` as an operator that a compiler leaves as it is: borders [S+1] int32 of the sequences, some of
    which may be empty, and how far a token sees to both sides, or ALL."""
    out, _, _ = _forward(qkv.contiguous(), _lengths(borders), num_heads, _reach(before, after), keep=False)
    return out


@packed_attention.register_fake
def _(qkv: Tensor, borders: Tensor, num_heads: int, before: int, after: int) -> Tensor:
    return qkv.new_empty(qkv.shape[0], qkv.shape[1] // 3)


@torch.library.custom_op("spanwise::packed_attention_backward", mutates_args=())
def packed_attention_backward(
    grad: Tensor, qkv: Tensor, borders: Tensor, num_heads: int, before: int, after: int
) -> Tensor:
    """The gradient of `qkv`; probabilities are computed again."""
    qkv, lengths = qkv.contiguous(), _lengths(borders)
    _, blocks, probabilities = _forward(qkv, lengths, num_heads, _reach(before, after), keep=True)
    return _backward(grad, qkv, blocks, probabilities, num_heads, len(blocks) > len(lengths))


@packed_attention_backward.register_fake
def _(grad: Tensor, qkv: Tensor, borders: Tensor, num_heads: int, before: int, after: int) -> Tensor:
    return qkv.new_empty(qkv.shape)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    qkv, borders, *ctx.options = inputs
    ctx.save_for_backward(qkv, borders)


def _gradients(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    return packed_attention_backward(grad, *ctx.saved_tensors, *ctx.options), None, None, None, None


packed_attention.register_autograd(_gradients, setup_context=_remember)


def _lengths(borders: Tensor) -> tuple[int, ...]:
    return tuple(length for length in borders.diff().tolist() if length)


def _reach(before: int, after: int) -> Reach:
    return Reach(None if before == ALL else before, None if after == ALL else after)


class _Masks:
    """The masks of all blocks, cut out of one matrix."""

    def __init__(self, reach: Reach, blocks: list[_Block], like: Tensor) -> None:
        masked = [block for block in blocks if block.is_masked]
        offsets = [queries.begin - keys.begin for queries, keys, _ in masked]
        self.least = min(offsets, default=0)
        num_rows = max(
            (offset + b.queries.end - b.queries.begin for offset, b in zip(offsets, masked, strict=True)), default=0
        )
        num_keys = max((keys.end - keys.begin for _, keys, _ in masked), default=0)
        self.whole = mask(reach, self.least, num_rows - self.least, num_keys, like)

    def of(self, block: _Block) -> Tensor:
        """Return the mask [L, M] of a block."""
        queries, keys, _ = block
        begin = queries.begin - keys.begin - self.least
        return self.whole[begin : begin + queries.end - queries.begin, : keys.end - keys.begin]
