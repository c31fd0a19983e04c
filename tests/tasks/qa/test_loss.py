"""The packed loss is the padded loss, without padding."""

import torch
from tests.nn.toy import toy_config
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from spanwise.nn.heads.qa import QuestionAnsweringHead
from spanwise.nn.sequences import Sequences
from spanwise.tasks.qa.loss import SpanTargets, head_loss, span_loss

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
        logits[targets.first_G, 0] = 1.0
        logits[targets.last_G[:2], 1] = 1.0
        logits[7, 1] = 1.0  # the last window's end is beaten
    assert int(span_loss(logits, targets, sequences).num_correct) == 2


def test_half_precision_logits_are_summed_in_fp32():
    logits, targets, sequences = packed()
    assert span_loss(logits.bfloat16(), targets, sequences).sum.dtype == torch.float32


def several(scale: float = 1.0):
    """The windows of `packed` with one, two and three gold answers."""
    logits, _, sequences = packed(scale)
    pairs = ((2, 3), (5, 5), (5, 5), (6, 8), (7, 7), (6, 14))
    first, last = (torch.tensor([pair[end] for pair in pairs]) for end in (0, 1))
    return logits, SpanTargets(first, last, borders_S=torch.tensor([0, 1, 3, 6])), sequences


def log_probabilities(logits, sequences, first, last):
    """Of each gold span, by its window."""
    found = []
    borders = sequences.cu_seqlens.tolist()
    for a, b in zip(first.tolist(), last.tolist(), strict=True):
        k = max(place for place, border in enumerate(borders) if border <= a)
        window = logits[borders[k] : borders[k + 1]].log_softmax(0)
        found.append(window[a - borders[k], 0] + window[b - borders[k], 1])
    return torch.stack(found)


def test_several_gold_answers_share_one_loss_of_their_summed_probability():
    logits, targets, sequences = several(3.0)
    loss = span_loss(logits, targets, sequences)
    found = log_probabilities(logits, sequences, targets.first_G, targets.last_G)
    expected = -0.5 * sum(found[a:b].logsumexp(0) for a, b in ((0, 1), (1, 3), (3, 6)))
    torch.testing.assert_close(loss.sum, expected)
    gradients = [torch.autograd.grad(value, logits, retain_graph=True)[0] for value in (loss.sum, expected)]
    torch.testing.assert_close(*gradients)


def test_one_gold_answer_each_is_the_same_loss_by_either_way():
    logits, targets, sequences = packed()
    listed = SpanTargets(targets.first_G, targets.last_G, borders_S=torch.arange(4))
    one, other = span_loss(logits, targets, sequences), span_loss(logits, listed, sequences)
    torch.testing.assert_close(one.sum, other.sum)
    assert one.num_correct == other.num_correct


def facts(impossible=(0.0, 1.0, 0.0)):
    """Passages behind a question of one token in windows of LENGTHS; the middle window has none."""
    passage = torch.tensor([[2, 5], [6, 6], [8, 15]])
    return {"passage_S2": passage, "impossible_S": torch.tensor(impossible)}


def test_joint_spans_and_the_classifier_are_written_out_window_by_window():
    torch.manual_seed(1)
    head = QuestionAnsweringHead(toy_config(), joint=True, answerable=True)
    hidden = torch.randn(sum(LENGTHS), 32)
    sequences = Sequences.from_lengths(LENGTHS)
    first, last = torch.tensor([2, 5, 8, 9]), torch.tensor([4, 5, 8, 14])
    targets = SpanTargets(first, last, borders_S=torch.tensor([0, 1, 2, 4]), **facts())
    loss = head_loss(head, hidden, targets, sequences, 0.5)

    expected = 0.0
    golds = [[(2, 4)], [(5, 5)], [(8, 8), (9, 14)]]
    for cls, (a, b), spans, label in zip((0, 5, 6), ((2, 5), (6, 6), (8, 15)), golds, (0.0, 1.0, 0.0), strict=True):
        rows = [cls, *range(a, b)]
        tokens = hidden[rows]
        start = head.start_scores(tokens).log_softmax(0)
        parts = []
        for s, e in spans:
            ends = head.end_scores(hidden[s][None], tokens)[0].log_softmax(0)
            parts.append(start[rows.index(s)] + ends[rows.index(e)])
        expected = expected - 0.5 * torch.stack(parts).logsumexp(0)
        mean = (start.exp()[:, None] * tokens).sum(0)
        odds = head.answerable(hidden[cls][None], mean[None])[0]
        expected = expected + 0.5 * binary_cross_entropy_with_logits(odds, torch.tensor(label))
    torch.testing.assert_close(loss.sum, expected)
    for parameter in head.parameters():
        assert torch.autograd.grad(loss.sum, parameter, retain_graph=True)[0].abs().sum() > 0


def test_a_classifier_beside_independent_spans_adds_its_loss():
    torch.manual_seed(1)
    head = QuestionAnsweringHead(toy_config(), answerable=True)
    hidden, sequences = torch.randn(sum(LENGTHS), 32), Sequences.from_lengths(LENGTHS)
    _, targets, _ = packed()
    targets = SpanTargets(targets.first_G, targets.last_G, **facts())
    spans = span_loss(head(hidden), targets, sequences)
    odds = head.answerable(hidden[[0, 5, 6]])
    error = binary_cross_entropy_with_logits(odds, targets.impossible_S, reduction="sum")
    torch.testing.assert_close(head_loss(head, hidden, targets, sequences, 2.0).sum, spans.sum + 2.0 * error)
