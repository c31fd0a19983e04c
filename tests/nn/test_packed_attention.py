"""Blocks of a pack on a CPU. Values and gradients stand beside plain attention in test_attention.py."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from spanwise.nn import packed_attention as module
from spanwise.nn.packed_attention import (
    ALL,
    FEWEST_QUERIES,
    PackedAttention,
    Reach,
    _blocks,
    _each,
    mask,
    packed_attention,
)


@pytest.mark.parametrize("multiple", [1, 16])
@pytest.mark.parametrize("reach", [Reach(None, None), Reach(None, 0), Reach(5, 5), Reach(70, 70), Reach(40, 0)])
def test_every_query_is_in_one_block_with_all_the_keys_that_it_sees(reach, multiple):
    lengths = (3, 400, 1, 250)
    seen = torch.zeros(sum(lengths), sum(lengths), dtype=torch.int64)
    for queries, keys, is_masked in _blocks(lengths, sum(lengths), multiple, reach):
        seen[queries.own, keys.own] += 1
        assert (queries.end - queries.begin) % multiple == 0 and queries.begin >= 0 and keys.end <= sum(lengths)
        near = mask(
            reach, queries.begin - keys.begin, queries.end - queries.begin, keys.end - keys.begin, torch.ones(1)
        )
        if not is_masked:
            assert near[queries.first : queries.last, keys.first : keys.last].eq(0).all()
    expected = torch.zeros_like(seen)
    start = 0
    for length in lengths:
        ago = torch.arange(length)[:, None] - torch.arange(length)
        before, after = (length if side is None else side for side in reach)
        expected[start : start + length, start : start + length] = (ago <= before) & (ago >= -after)
        start += length
    assert (seen >= expected).all() and seen.max() == 1


def test_a_long_sequence_with_a_window_costs_what_the_window_is_not_its_square():
    def size(length):
        blocks = _blocks((length,), length, 1, Reach(64, 64))
        return sum((q.end - q.begin) * (k.end - k.begin) for q, k, _ in blocks)

    assert size(4096) < 2.1 * size(2048) and size(2048) < 2048 * 2 * 128 + 1
    assert size(100) == 100 * 100


def test_the_mask_is_minus_infinity_out_of_reach_and_knows_where_queries_stand():
    found = mask(Reach(2, 1), 3, 2, 6, torch.ones(1))
    inf = float("inf")
    assert found.tolist() == [[-inf, 0, 0, 0, 0, -inf], [-inf, -inf, 0, 0, 0, 0]]


def test_a_reach_covers_sequences_that_are_no_longer_than_it():
    assert Reach(4, 4).covers(5) and not Reach(4, 4).covers(6) and not Reach(None, 0).covers(2)
    assert Reach(None, None).covers(10**6) and FEWEST_QUERIES > 0


@pytest.mark.parametrize("window", [(ALL, ALL), (ALL, 0), (5, 5)])
def test_the_operator_of_compiled_regions_is_the_same_attention(window):
    torch.manual_seed(0)
    lengths, reach = (3, 40, 1, 20), Reach(*(None if side == ALL else side for side in window))
    borders = torch.tensor([0, 3, 43, 43, 44, 64, 64, 64], dtype=torch.int32)  # with sequences without a token
    qkv, grad = torch.randn(64, 3 * 16, requires_grad=True), torch.randn(64, 16)

    wanted = PackedAttention.apply(qkv, lengths, 2, reach)
    (of_wanted,) = torch.autograd.grad(wanted, qkv, grad)
    out = packed_attention(qkv, borders, 2, *window)
    (of_out,) = torch.autograd.grad(out, qkv, grad)

    assert torch.equal(out, wanted) and torch.equal(of_out, of_wanted)
    torch.library.opcheck(packed_attention, (qkv, borders, 2, *window), test_utils=["test_schema", "test_faketensor"])


@pytest.fixture
def with_threads():
    """Compute a result once with each of some numbers of threads."""
    before = torch.get_num_threads()

    def each(compute, *numbers):
        found = []
        for number in numbers:
            torch.set_num_threads(number)
            found.append(compute())
        return found

    yield each
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("reach", [Reach(None, None), Reach(None, 0), Reach(5, 5), Reach(40, 0)])
def test_threads_with_sequences_of_their_own_give_the_bits_of_one_thread(reach, dtype, with_threads):
    lengths = (90, 7, 300, 1, 128, 33, 250, 64)
    generator = torch.Generator().manual_seed(0)
    qkv = torch.randn(sum(lengths), 3 * 32, generator=generator).to(dtype)
    grad = torch.randn(sum(lengths), 32, generator=generator).to(dtype)

    def attend():
        given = qkv.clone().requires_grad_()
        out = PackedAttention.apply(given, lengths, 2, reach)
        out.backward(grad)
        with torch.inference_mode():
            again = PackedAttention.apply(qkv, lengths, 2, reach)
        assert torch.equal(again, out) and not again.requires_grad
        return out.detach(), given.grad

    one, *others = with_threads(attend, 1, 2, 3)
    for found in others:
        assert all(torch.equal(a, b) for a, b in zip(one, found, strict=True))


def test_blocks_that_share_keys_stay_with_one_thread(monkeypatch):
    lengths, calls = (2000, 30, 2000, 500), []
    monkeypatch.setattr(module, "side_by_side", lambda given: calls.extend(given) or [call() for call in given])
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    blocks = list(_blocks(lengths, sum(lengths), 1, Reach(64, 64)))
    done = []
    _each(done.append, blocks)
    assert done == list(range(len(blocks))) and (1 < len(calls) <= 3 or not module.shares_threads())
    ends = [blocks[call.args[1] - 1].keys.own.stop for call in calls]
    starts = [blocks[call.args[0]].keys.own.start for call in calls]
    assert starts == [0, *ends[:-1]]  # a part begins where the one before it ends


def test_a_mode_that_watches_operators_sees_those_of_all_sequences(with_threads):
    lengths = (300,) * 8
    qkv = torch.randn(sum(lengths), 3 * 32)

    class Watching(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), named=None):
            seen.append(function)
            return function(*arguments, **(named or {}))

    def attend():
        seen.clear()
        with Watching():
            PackedAttention.apply(qkv, lengths, 2, Reach(None, None))
        return len(seen)

    seen = []
    one, three = with_threads(attend, 1, 3)
    assert one == three > 8


def test_a_gradient_of_the_gradient_is_refused_as_there_is_none():
    qkv = torch.randn(40, 96, requires_grad=True)
    loss = PackedAttention.apply(qkv, (40,), 2, Reach(None, None)).square().sum()
    (gradient,) = torch.autograd.grad(loss, qkv, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()
