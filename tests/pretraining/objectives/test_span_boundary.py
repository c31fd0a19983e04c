"""Every hidden token is guessed from the visible tokens around its span."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from toy_packs import hidden_of, pack_of, packs_of

from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.pretraining.masking import GeometricSpans
from spanwise.pretraining.masking.merge import hidden_tokens
from spanwise.pretraining.objectives import MaskedLM, SpanBoundary
from spanwise.pretraining.packs import Spans
from spanwise.runtime.seed import keys_for

RELEASED = SpanBoundary(num_positions=15, edges="skip", beyond="skip")


def masked(pack, scheme=None):
    spans = (scheme or GeometricSpans()).select(pack, keys_for(0, "masking", 0, pack.block_ids))
    return pack, spans, hidden_tokens(pack, spans)


def of_spans(pack, *borders):
    start, end = np.array([b[0] for b in borders]), np.array([b[1] for b in borders])
    sequence = np.searchsorted(pack.borders, start, side="right") - 1
    spans = Spans(sequence=sequence, start=start, end=end)
    return pack, spans, hidden_tokens(pack, spans)


def test_with_special_boundaries_every_hidden_token_is_a_target():
    """There are as many SBO targets as masked tokens; boundaries are the span's neighbours, never another token."""
    pack, spans, hidden = masked(packs_of(50, 126))

    targets = SpanBoundary().targets(pack, spans, hidden)

    hidden_T = hidden_of(pack, spans)
    assert targets.count == MaskedLM().targets(pack, spans, hidden).count
    np.testing.assert_array_equal(targets.ids.numpy(), hidden.original_ids)
    np.testing.assert_array_equal(targets.left.numpy(), spans.start[hidden.span] - 1)
    np.testing.assert_array_equal(targets.right.numpy(), spans.end[hidden.span])
    assert not hidden_T[targets.left.numpy()].any() and not hidden_T[targets.right.numpy()].any()
    np.testing.assert_array_equal(
        targets.position_index.numpy(), np.minimum(hidden.position - spans.start[hidden.span], 29)
    )


@pytest.mark.parametrize(("n", "missing"), [(510, 0.0203), (126, 0.0446), (30, 0.1272)])
def test_the_released_choices_leave_out_the_published_share(n, missing):
    """The shares are those of a simulation of the released procedure, written anew."""
    scheme = GeometricSpans(start="tokens", end="budget")
    pack, spans, hidden = masked(packs_of(900_000 // n, n), scheme)

    share = 1 - RELEASED.targets(pack, spans, hidden).count / len(hidden.position)

    assert share == pytest.approx(missing, rel=0.08)


def test_an_edge_span_is_skipped_or_bounded_by_the_special():
    """Start 0 never wraps round."""
    case = of_spans(pack_of([[0, 1, 1, 1, 1, 0], [0, 1, 1, 1, 0]]), (1, 3), (8, 10))

    special, skipped = SpanBoundary().targets(*case), SpanBoundary(edges="skip").targets(*case)

    assert special.left.tolist() == [0, 0, 7, 7] and special.right.tolist() == [3, 3, 10, 10]
    assert skipped.count == 0


def test_an_edge_without_a_special_has_no_target():
    case = of_spans(pack_of([[1, 1, 1], [1, 1, 1], [1, 1, 1]]), (0, 1), (4, 5), (8, 9))

    assert SpanBoundary().targets(*case).left.tolist() == [3]


def test_a_span_of_80_tokens_does_not_break_the_table():
    case = of_spans(pack_of([[0, *[1] * 90, 0]]), (5, 85))

    shared, cut = SpanBoundary().targets(*case), RELEASED.targets(*case)

    assert shared.position_index.tolist() == [*range(30), *[29] * 50]
    assert cut.position_index.tolist() == list(range(15))


@pytest.fixture(scope="module")
def encoder():
    torch.manual_seed(0)
    shape = dict(hidden_size=32, num_layers=1, num_heads=2, intermediate_size=64)
    return Encoder(EncoderConfig(vocab_size=200, max_positions=64, **shape))


def graph_size(loss) -> int:
    seen, stack = set(), [loss.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            stack += [parent for parent, _ in node.next_functions]
    return len(seen)


def test_every_head_parameter_learns_and_the_graph_does_not_grow_with_the_spans(encoder):
    sizes = []
    for num_sequences in (2, 20):
        pack, spans, hidden = masked(packs_of(num_sequences, 60))
        head = SpanBoundary().build(encoder)
        hidden_TD = torch.randn(len(pack.input_ids), 32, requires_grad=True)
        loss = head(hidden_TD, SpanBoundary().targets(pack, spans, hidden))
        sizes.append(graph_size(loss.sum))
        loss.sum.backward()
        assert all(p.grad is not None and p.grad.any() for p in head.parameters())

    assert sizes[0] == sizes[1]


def test_no_target_is_legal_and_gives_zero(encoder):
    pack, spans, hidden = masked(packs_of(2, 20), GeometricSpans(ratio=0.0))
    head = SpanBoundary().build(encoder)

    loss = head(torch.randn(len(pack.input_ids), 32, requires_grad=True), SpanBoundary().targets(pack, spans, hidden))
    loss.sum.backward()

    assert loss.sum.item() == 0.0
    assert all(p.grad is not None and not p.grad.any() for p in head.parameters())


def test_token_id_0_is_a_legal_target(encoder):
    pack, spans, _ = masked(packs_of(2, 20))
    zero = dataclasses.replace(pack, input_ids=np.zeros_like(pack.input_ids))
    targets = SpanBoundary().targets(zero, spans, hidden_tokens(zero, spans))

    loss = SpanBoundary().build(encoder)(torch.randn(len(pack.input_ids), 32), targets)

    assert targets.count and not targets.ids.any() and loss.sum > 0


def test_base_shape_has_the_published_number_of_parameters():
    """Section 9: 1,959,676 without the tied decoder, V = 28,996 (the bias is padded like the word table)."""
    with torch.device("meta"):
        head = SpanBoundary(num_positions=15).build(
            Encoder(
                EncoderConfig(vocab_size=28_996, hidden_size=768, num_layers=1, num_heads=12, intermediate_size=3_072)
            )
        )

    assert sum(p.numel() for p in head.parameters()) - head.bias.numel() + 28_996 == 1_959_676


@pytest.mark.parametrize("values", [{"num_positions": 0}, {"position_size": 0}, {"edges": "wrap"}])
def test_values_that_cannot_work_are_refused(values):
    with pytest.raises(ConfigError, match=next(iter(values))):
        SpanBoundary(**values)


def test_borders_of_touching_spans_of_groups_are_those_of_the_whole_gap():
    """Between two spans that touch lies no visible token: all tokens of the gap are guessed from its two borders."""
    pack = packs_of(1, 12)
    whole = Spans(sequence=np.array([0, 0]), start=np.array([3, 9]), end=np.array([7, 10]))
    parts = Spans(
        sequence=np.zeros(3, dtype=np.int64),
        start=np.array([3, 5, 9]),
        end=np.array([5, 7, 10]),
        group=np.array([0, -1, 0]),
    )
    expected, found = (SpanBoundary().targets(pack, one, hidden_tokens(pack, one)) for one in (whole, parts))
    for name in ("left", "right", "position_index", "ids"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
