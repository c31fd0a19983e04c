"""The compiled LayerNorm(residual + dropout(x)) against its plain parts."""

import pytest
import torch
import torch.nn.functional as F

from spanwise.nn.dropout import Rate, keep_mask
from spanwise.nn.fused.dropout_norm import DropoutAddNorm

T, D, EPS = 70, 24, 1e-12
KEYS = torch.randint(-(2**63), 2**63 - 1, (T,), generator=torch.Generator().manual_seed(0))


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


def make(num_rows=T, dtype=torch.float32):
    generator = torch.Generator().manual_seed(num_rows)
    x, residual = (torch.randn(num_rows, D, generator=generator) for _ in range(2))
    weight, bias = (torch.randn(D, generator=generator).requires_grad_() for _ in range(2))
    return x.to(dtype).requires_grad_(), residual.requires_grad_(), weight, bias


@pytest.mark.parametrize("rows", [list(range(T)), [3], [0, 5, 6, 69], list(range(0, 70, 2))])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 8e-3)])
def test_values_and_gradients_are_those_of_the_plain_parts(threads, rows, dtype, tolerance):
    inputs = make(len(rows), dtype)
    x, residual, weight, bias = inputs
    out = DropoutAddNorm.apply(*inputs, EPS, 0.3, KEYS[rows])
    rate = Rate.of(0.3)
    keep = keep_mask(KEYS, D, rate)[rows]
    plain = F.layer_norm(residual + x.float() * keep * rate.scale, (D,), weight, bias, EPS)
    torch.testing.assert_close(out, plain, atol=1e-5, rtol=1e-5)
    given = torch.randn(len(rows), D)
    found, expected = (torch.autograd.grad((y * given).sum(), inputs) for y in (out, plain))
    assert found[0].dtype == dtype and all(grad.dtype == torch.float32 for grad in found[1:])
    torch.testing.assert_close(found[0], expected[0], atol=tolerance, rtol=tolerance)
    for mine, theirs in zip(found[1:], expected[1:], strict=True):
        torch.testing.assert_close(mine, theirs, atol=2e-5, rtol=1e-5)


def test_views_and_constant_rows_and_no_rows_are_served():
    x, residual, weight, bias = make()
    shifted = torch.cat((x, x), 1)[:, D // 2 : D // 2 + D]  # not contiguous
    out = DropoutAddNorm.apply(shifted, residual, weight, bias, EPS, 0.1, KEYS)
    assert torch.equal(out, DropoutAddNorm.apply(shifted.contiguous(), residual, weight, bias, EPS, 0.1, KEYS))
    constant = torch.full((T, D), 2.5)
    assert DropoutAddNorm.apply(constant * 0, constant, weight, bias, EPS, 0.1, KEYS).isfinite().all()
    none = DropoutAddNorm.apply(x[:0], residual[:0], weight, bias, EPS, 0.1, KEYS[:0])
    assert none.shape == (0, D) and all(g.eq(0).all() for g in torch.autograd.grad(none.sum(), (weight, bias)))


def test_not_a_number_stays_one():
    x, residual, weight, bias = make()
    residual = residual.detach().clone()
    residual[5, 3] = float("nan")
    out = DropoutAddNorm.apply(x, residual, weight, bias, EPS, 0.1, KEYS)
    assert out[5].isnan().all() and out[torch.arange(T) != 5].isfinite().all()
