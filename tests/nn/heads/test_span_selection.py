import pytest
import torch
from tests.nn.toy import toy_config, toy_encoder
from torch.nn import functional as F

from spanwise.interop.heads import make_head, size_of
from spanwise.nn.heads.span_selection import SpanSelectionHead
from spanwise.nn.init import initialize
from spanwise.nn.losses.pointer import ManyPointers, pointer_loss
from spanwise.nn.sequences import Sequences

LENGTHS, COUNTS = [7, 3, 5], [2, 0, 3]  # and four tokens of filler behind
QUESTIONS = torch.tensor([1, 6, 10, 12, 14])


def wide_head(seed=0) -> SpanSelectionHead:
    """Every parameter far from where it starts, gains and biases of norms too."""
    torch.manual_seed(seed)
    head = SpanSelectionHead(toy_config())
    with torch.no_grad():
        for parameter in head.parameters():
            parameter += 0.3 * torch.randn(parameter.shape)
    return head


def transformed(part, rows):
    inner = F.gelu(rows @ part.dense.weight.t() + part.dense.bias)
    centred = inner - inner.mean(-1, keepdim=True)
    normed = centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()
    return normed * part.norm.weight + part.norm.bias


def as_written(head, hidden):
    """The paper's formula, one question at a time: start and end scores over the tokens of its sequence."""
    found, first, left = [], 0, QUESTIONS.tolist()
    for length, count in zip(LENGTHS, COUNTS, strict=True):
        tokens = hidden[first : first + length]
        for _ in range(count):
            asked = hidden[left.pop(0)]
            start = transformed(head.token_start, tokens) @ (head.start.weight @ transformed(head.query_start, asked))
            end = transformed(head.token_end, tokens) @ (head.end.weight @ transformed(head.query_end, asked))
            found.append(torch.stack([start, end]))
        first += length
    return torch.cat(found, dim=1)


def laid_out():
    return ManyPointers.of(COUNTS, Sequences.from_lengths([*LENGTHS, 4]))


def test_each_question_scores_the_tokens_of_its_own_sequence():
    head, hidden = wide_head(), torch.randn(19, 32)
    start, end = head(hidden, QUESTIONS, laid_out())
    torch.testing.assert_close(torch.stack([start, end]), as_written(head, hidden), atol=1e-5, rtol=1e-5)


def test_loss_and_gradients_are_those_of_two_cross_entropies():
    head, hidden = wide_head(1), torch.randn(19, 32, requires_grad=True)
    pointers, gold = laid_out(), torch.tensor([[0, 2], [3, 3], [0, 1], [4, 4], [2, 3]])
    start, end = head(hidden, QUESTIONS, pointers)
    places = pointers.borders[:-1, None] + gold
    loss = (
        pointer_loss(start, pointers.borders, places[:, 0]).sum + pointer_loss(end, pointers.borders, places[:, 1]).sum
    )
    runs = as_written(head, hidden).split(pointers.borders.diff().tolist(), dim=1)
    expected = sum(F.cross_entropy(run, place, reduction="sum") for run, place in zip(runs, gold, strict=True))
    torch.testing.assert_close(loss, expected)
    wanted = [hidden, *head.parameters()]
    for ours, theirs in zip(torch.autograd.grad(loss, wanted), torch.autograd.grad(expected, wanted), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("training", [True, False])
def test_one_question_of_each_sequence_scores_as_any_number_does_and_filler_asks_with_its_first_row(training):
    head, hidden = wide_head(2).train(training), torch.randn(19, 32)
    sequences, asked = Sequences.from_lengths([*LENGTHS, 4]), torch.tensor([1, 9, 10])
    found = head.one_each(hidden, asked, sequences)
    one_each = ManyPointers.of([1] * 4, sequences)
    start, end = head(hidden, torch.tensor([1, 9, 10, 15]), one_each)
    torch.testing.assert_close(found, torch.stack([start, end], dim=1), atol=1e-5, rtol=1e-5)
    with torch.autocast("cpu", torch.bfloat16):
        near = head.one_each(hidden, asked, sequences)
    assert near.dtype == torch.float32 and (near - found).abs().max() < 0.03 * found.abs().max()


def test_under_bf16_scores_are_float32_and_near():
    head, hidden = wide_head(), torch.randn(19, 32)
    with torch.autocast("cpu", torch.bfloat16):
        start, end = head(hidden, QUESTIONS, laid_out())
    assert start.dtype == end.dtype == torch.float32
    expected = as_written(head, hidden)
    assert (torch.stack([start, end]) - expected).abs().max() < 0.03 * expected.abs().max()


def test_it_is_built_by_its_name_with_weights_that_start_small_and_norms_that_start_plain():
    encoder = toy_encoder()
    head = make_head("span_selection", encoder, size_of("span_selection", dict(wide_head().named_parameters())))
    initialize(head, encoder.config, seed=0)
    assert isinstance(head, SpanSelectionHead)
    assert {name for name, _ in head.named_children()} == {
        "query_start", "query_end", "token_start", "token_end", "start", "end",
    }  # fmt: skip
    assert sum(parameter.numel() for parameter in head.parameters()) == 6 * 32 * 32 + 4 * 3 * 32
    assert head.query_end.norm.weight.detach().min() == 1.0 and 0.01 < head.start.weight.detach().std() < 0.03
