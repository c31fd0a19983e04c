import math

import pytest
import torch
import torch.nn.functional as F

from spanwise.nn.vocabulary_loss import DEAD, vocabulary_logits, vocabulary_loss

V, VP, D = 100, 128, 16


def make_inputs(num_rows, seed=0, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(num_rows, D, generator=generator).mul_(scale).requires_grad_()
    weight = torch.randn(VP, D, generator=generator).requires_grad_()
    bias = torch.randn(VP, generator=generator).requires_grad_()
    targets = torch.randint(0, V, (num_rows,), generator=generator)
    return rows, weight, bias, targets


def plain_loss(rows, weight, bias, targets):
    return F.cross_entropy(F.linear(rows, weight[:V], bias[:V]), targets, reduction="none")


@pytest.mark.parametrize("chunk_rows", [1, 3, 16, 1000])
def test_loss_and_gradients_equal_plain_cross_entropy_for_every_chunk_size(chunk_rows):
    inputs = make_inputs(17)
    ours = vocabulary_loss(*inputs, V, chunk_rows=chunk_rows, per_row=True)
    (ours.sum * 0.37).backward()
    found = [tensor.grad.clone() for tensor in inputs[:3]]
    for tensor in inputs[:3]:
        tensor.grad = None
    expected = plain_loss(*inputs)
    (expected.sum() * 0.37).backward()

    torch.testing.assert_close(ours.losses, expected.detach(), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(ours.sum.detach(), expected.sum().detach(), atol=1e-4, rtol=1e-5)
    for mine, tensor in zip(found, inputs[:3], strict=True):
        torch.testing.assert_close(mine, tensor.grad, atol=1e-5, rtol=1e-4)
    assert found[1][V:].abs().sum() == 0 and found[2][V:].abs().sum() == 0  # padded rows


def test_num_correct_counts_rows_whose_first_best_id_is_the_target():
    rows, weight, bias, _ = make_inputs(50)
    best = vocabulary_logits(rows, weight, bias, V).argmax(-1)
    wrong = (best + 1) % V
    targets = torch.where(torch.arange(50) < 30, best, wrong)
    assert vocabulary_loss(rows, weight, bias, targets, V, chunk_rows=7).num_correct == 30
    tied = vocabulary_loss(rows[:1], torch.zeros(VP, D), torch.zeros(VP), torch.tensor([5]), V)
    assert tied.num_correct == 0  # all ids tie; id 0 comes first


def test_no_target_gives_zero_loss_and_zero_gradients_everywhere():
    rows, weight, bias, targets = make_inputs(0)
    loss = vocabulary_loss(rows, weight, bias, targets, V)
    loss.sum.backward()
    assert loss.sum == 0 and loss.num_correct == 0
    for tensor in (rows, weight, bias):
        assert tensor.grad is not None and tensor.grad.abs().sum() == 0


def test_token_id_zero_is_a_legal_target():
    rows, weight, bias, _ = make_inputs(4)
    zeros = torch.zeros(4, dtype=torch.int64)
    loss = vocabulary_loss(rows, weight, bias, zeros, V)
    torch.testing.assert_close(loss.sum, plain_loss(rows, weight, bias, zeros).sum())
    loss.sum.backward()
    assert rows.grad.abs().sum() > 0


def test_padded_rows_have_no_probability_even_when_their_scores_would_win():
    rows, weight, bias, targets = make_inputs(5)
    with torch.no_grad():
        bias[V:] = 1e4
        weight[V:] = 100.0
    loss = vocabulary_loss(rows, weight, bias, targets, V)
    torch.testing.assert_close(loss.sum, plain_loss(rows, weight, bias, targets).sum())


def test_improbable_targets_have_a_finite_exact_loss():
    rows, weight, bias, targets = make_inputs(6, scale=300.0)
    loss = vocabulary_loss(rows, weight, bias, targets, V)
    assert loss.sum.item() > 1000  # probabilities that float32 can't hold
    torch.testing.assert_close(loss.sum, plain_loss(rows, weight, bias, targets).sum(), rtol=1e-5, atol=0.1)


@pytest.mark.parametrize("num_rows", [1, 15, 40, 48, 77])  # the last chunk is filled up with rows of zeros
def test_autocast_runs_products_in_bf16_and_keeps_loss_and_sums_in_float32(num_rows):
    inputs = make_inputs(num_rows, scale=0.3)
    exact = plain_loss(*inputs).sum()
    exact_grads = torch.autograd.grad(exact, inputs[:3])
    with torch.autocast("cpu", torch.bfloat16):
        loss = vocabulary_loss(*inputs, V, chunk_rows=16)
    grads = torch.autograd.grad(loss.sum, inputs[:3])
    assert loss.sum.dtype == torch.float32 and all(grad.dtype == torch.float32 for grad in grads)
    assert abs(loss.sum.item() - exact.item()) < 0.003 * exact.item()
    for mine, theirs in zip(grads, exact_grads, strict=True):
        assert (mine - theirs).norm() < 0.02 * theirs.norm()


def test_without_gradients_only_the_loss_is_made():
    inputs = make_inputs(9)
    with torch.no_grad():
        loss = vocabulary_loss(*inputs, V, per_row=True)
    assert not loss.sum.requires_grad
    assert math.isclose(loss.sum.item(), loss.losses.sum().item(), rel_tol=1e-6)


def test_second_backward_is_refused_instead_of_being_wrong():
    rows, weight, bias, targets = make_inputs(3)
    loss = vocabulary_loss(rows, weight, bias, targets, V).sum
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="one backward only"):
        loss.backward()


def test_no_more_than_one_chunk_of_logits_is_ever_in_memory():
    rows, weight, bias, targets = make_inputs(64)
    with torch.profiler.profile(profile_memory=True) as profile:
        vocabulary_loss(rows, weight, bias, targets, V, chunk_rows=8)
    largest = max(event.cpu_memory_usage for event in profile.events())
    assert largest < 64 * VP * 4  # all logits in float32


def test_rows_that_enter_the_decoder_are_the_targets_alone():
    rows, weight, bias, targets = make_inputs(13)
    with torch.profiler.profile(record_shapes=True) as profile:
        vocabulary_loss(rows, weight, bias, targets, V)
    products = [event.input_shapes for event in profile.events() if event.name == "aten::mm"]
    assert [13, D] in [shapes[0] for shapes in products] and all(max(s[0]) <= VP for s in products)
    assert not any(s[0][0] > 13 and s[1][-1] == VP for s in products)


@pytest.mark.parametrize("way", ["loops", "operators", "compiled"])
def test_dead_rows_have_no_loss_and_no_gradient_and_are_never_right(way, monkeypatch):
    torch.manual_seed(0)
    if way == "operators":  # as on a GPU
        monkeypatch.setattr("spanwise.nn.vocabulary_loss.serves", lambda *_: False)
    loss = torch.compile(vocabulary_loss, backend="eager", fullgraph=True) if way == "compiled" else vocabulary_loss
    rows, weight = torch.randn(6, 8, requires_grad=True), torch.randn(64, 8, requires_grad=True)
    bias = torch.randn(64, requires_grad=True)
    ids = torch.tensor([3, DEAD, 0, 9, DEAD, DEAD])
    alive = ids != DEAD

    wanted = vocabulary_loss(rows[alive], weight, bias, ids[alive], 50)
    of_wanted = torch.autograd.grad(wanted.sum, (rows, weight, bias))
    found = loss(rows, weight, bias, ids, 50, per_row=True)
    of_found = torch.autograd.grad(found.sum, (rows, weight, bias))

    assert float(found.sum) == pytest.approx(float(wanted.sum), rel=1e-6) and found.num_correct == wanted.num_correct
    assert found.losses[~alive].eq(0).all() and of_found[0][~alive].eq(0).all()
    for one, other in zip(of_found, of_wanted, strict=True):
        torch.testing.assert_close(one, other)
