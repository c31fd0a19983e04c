"""The compiled passes over logits against torch's own cross-entropy."""

import math

import pytest
import torch
import torch.nn.functional as F

from spanwise.nn.fused.cross_entropy import cross_entropy_rows, serves

V, VP = 1000, 1024


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


def make(num_rows, dtype, scale=3.0):
    generator = torch.Generator().manual_seed(num_rows)
    logits = (torch.randn(num_rows, VP, generator=generator) * scale).to(dtype)
    bias = torch.randn(VP, generator=generator)
    targets = torch.randint(0, V, (num_rows,), generator=generator)
    return logits, bias, targets


def compute(logits, bias, targets, with_grad=True):
    losses, bias_grad = torch.full((len(targets),), math.nan), torch.ones(VP) if with_grad else None
    num_correct = cross_entropy_rows(logits, bias, targets, losses, V, bias_grad)
    return losses, bias_grad, num_correct


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("num_rows", [0, 1, 70])
def test_losses_gradients_and_right_guesses_are_those_of_torch(threads, num_rows, dtype):
    logits, bias, targets = make(num_rows, dtype)
    scores = (logits.float() + bias)[:, :V].requires_grad_()
    expected = F.cross_entropy(scores, targets, reduction="none")
    (grad,) = torch.autograd.grad(expected.sum(), scores)
    targets[::3] = scores.argmax(-1)[::3]
    expected = F.cross_entropy(scores, targets, reduction="none")
    (grad,) = torch.autograd.grad(expected.sum(), scores)

    losses, bias_grad, num_correct = compute(logits, bias, targets)
    torch.testing.assert_close(losses, expected.detach(), atol=1e-5, rtol=1e-5)
    step = 0 if dtype == torch.float32 else 2**-8  # a bfloat16 keeps eight bits
    torch.testing.assert_close(logits[:, :V].float(), grad, atol=1e-6, rtol=1e-5 + step)
    torch.testing.assert_close(bias_grad[:V] - 1, grad.sum(0), atol=1e-5, rtol=1e-5)  # added to what was there
    assert (logits[:, V:] == 0).all() and (bias_grad[V:] == 1).all()
    assert num_correct == (scores.argmax(-1) == targets).sum()


def test_without_gradients_logits_stay():
    logits, bias, targets = make(5, torch.float32)
    before = logits.clone()
    losses, _, _ = compute(logits, bias, targets, with_grad=False)
    assert torch.equal(logits, before) and losses.isfinite().all()


def test_one_not_a_number_spoils_its_own_row_alone():
    logits, bias, targets = make(4, torch.float32)
    logits[1, 17], logits[2, 40] = math.nan, math.inf
    losses, _, _ = compute(logits, bias, targets)
    assert losses.isfinite().tolist() == [True, False, False, True]


def test_padded_columns_take_no_part_even_when_not_a_number():
    logits, bias, targets = make(3, torch.float32)
    logits[:, V:] = math.nan
    losses, bias_grad, _ = compute(logits, bias, targets)
    assert losses.isfinite().all() and bias_grad.isfinite().all() and (logits[:, V:] == 0).all()


@pytest.mark.parametrize("wrong", [-2, V, VP])
def test_a_target_outside_the_vocabulary_is_refused(wrong):
    logits, bias, targets = make(40, torch.float32)
    targets[33] = wrong
    with pytest.raises(IndexError, match="1,000 ids"):
        compute(logits, bias, targets)


def test_it_serves_float32_and_bfloat16_on_a_cpu_alone():
    assert serves(torch.float32, torch.device("cpu")) and serves(torch.bfloat16, torch.device("cpu"))
    assert not serves(torch.float64, torch.device("cpu")) and not serves(torch.bfloat16, torch.device("cuda"))
