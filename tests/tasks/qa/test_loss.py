"""The packed loss is the padded loss, without padding."""

import torch
from torch.nn.functional import cross_entropy

from spanwise.nn.sequences import Sequences
from spanwise.tasks.qa.loss import SpanTargets, span_loss

LENGTHS = (5, 1, 9)
POSITIONS = ((2, 3), (0, 0), (0, 8))


def packed(scale: float = 1.0):
    torch.manual_seed(0)
    logits = (scale * torch.randn(sum(LENGTHS), 2)).requires_grad_()
    starts = [sum(LENGTHS[:k]) for k in range(len(LENGTHS))]
    first, last = ([start + pair[end] for start, pair in zip(starts, POSITIONS, strict=True)] for end in (0, 1))
    return logits, SpanTargets(torch.tensor(first), torch.tensor(last)), Sequences.from_lengths(LENGTHS)


def test_the_sum_over_windows_equals_cross_entropy_window_by_window_with_its_gradient():
    for scale in (1.0, 300.0):
        logits, targets, sequences = packed(scale)
        loss = span_loss(logits, targets, sequences)
        (gradient,) = torch.autograd.grad(loss.sum, logits)
        expected = sum(
            (
                cross_entropy(window[None, :, 0], torch.tensor([a]))
                + cross_entropy(window[None, :, 1], torch.tensor([b]))
            )
            / 2
            for window, (a, b) in zip(logits.split(LENGTHS), POSITIONS, strict=True)
        )
        (expected_gradient,) = torch.autograd.grad(expected, logits)
        torch.testing.assert_close(loss.sum, expected)
        torch.testing.assert_close(gradient, expected_gradient)


def test_correct_windows_are_those_with_both_ends_on_top():
    logits, targets, sequences = packed()
    with torch.no_grad():
        logits.zero_()
        logits[targets.first_S, 0] = 1.0
        logits[targets.last_S[:2], 1] = 1.0
        logits[7, 1] = 1.0  # the last window's end is beaten
    assert int(span_loss(logits, targets, sequences).num_correct) == 2


def test_half_precision_logits_are_summed_in_fp32():
    logits, targets, sequences = packed()
    assert span_loss(logits.bfloat16(), targets, sequences).sum.dtype == torch.float32
