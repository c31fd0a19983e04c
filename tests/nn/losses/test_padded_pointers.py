"""Pointers in slots of one shape point as those in a flat array do."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.nn.losses.padded_pointers import PaddedPointers
from spanwise.nn.losses.pointer import ManyPointers
from spanwise.nn.sequences import Sequences
from spanwise.nn.vocabulary_loss import DEAD


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5)), min_size=1, max_size=6),
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3), st.integers(0, 4), st.integers(0, 9)),
    st.integers(0, 10_000),
)
def test_losses_hits_and_gradients_are_those_of_the_flat_array(shape, spare, seed):
    generator = torch.Generator().manual_seed(seed)
    lengths, counts = [n for n, _ in shape], [k for _, k in shape]
    num_pointers, num_tokens = sum(counts) + spare[3], sum(lengths) + spare[4]
    flat = ManyPointers.of(counts, Sequences.from_lengths(lengths))
    asked = sum(count > 0 for count in counts)
    room = (max(1, asked) + spare[0], max(1, *counts) + spare[1], max(lengths) + spare[2])
    padded = PaddedPointers.of(flat, room, num_pointers, num_tokens)

    def drawn(count):
        return torch.randint(-3, 4, (count, 4), generator=generator).float().requires_grad_()

    queries, tokens = drawn(num_pointers), drawn(num_tokens)  # whole numbers: ties, and no rounding
    columns = torch.tensor([seed % length for length, count in shape for _ in range(count)], dtype=torch.int64)
    starts = flat.borders[:-1] - flat.shift
    gold = torch.full((room[0] * room[1],), DEAD)
    gold[padded.slots[: sum(counts)]] = columns

    one = flat.point(flat.scores(queries[: sum(counts)], tokens), columns + starts)
    other = padded.point(padded.scores(queries, tokens), gold.view(room[:2]))
    torch.testing.assert_close(other.log_p.sum(), one.log_p.sum())
    assert other.on_top.sum() == one.on_top.sum()
    for given_ in (queries, tokens):
        wanted, found = (torch.autograd.grad(p.log_p.sum(), given_, retain_graph=True)[0] for p in (one, other))
        torch.testing.assert_close(found, wanted)
        assert torch.isfinite(found).all()


def test_too_little_room_is_refused():
    flat = ManyPointers.of([3, 0], Sequences.from_lengths([5, 4]))
    for room, pointers, tokens in (((1, 2, 5), 3, 9), ((1, 3, 4), 3, 9), ((1, 3, 5), 2, 9), ((1, 3, 5), 3, 8)):
        with pytest.raises(ValueError, match="too little room"):
            PaddedPointers.of(flat, room, pointers, tokens)
