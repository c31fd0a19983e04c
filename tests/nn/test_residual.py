import pytest
import torch
import torch.nn.functional as F
from tests.nn.toy import toy_config

from spanwise.nn.dropout import Rate, keep_mask
from spanwise.nn.residual import LayerNorm, PreNorm, ResidualNorm


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_constant_row_gives_no_nan_in_any_type(dtype):
    norm = LayerNorm(16, eps=1e-12)
    out = norm(torch.full((3, 16), 2.5, dtype=dtype))
    assert out.dtype == torch.float32 and torch.isfinite(out).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_fused_node_has_the_gradients_of_its_plain_parts(dtype):
    block = ResidualNorm(toy_config(hidden_size=24, hidden_dropout=0.4)).train()
    torch.nn.init.normal_(block.norm.weight)
    x = torch.randn(10, 24).to(dtype).requires_grad_()
    residual = torch.randn(10, 24, requires_grad=True)
    weights = torch.randn(10, 24)
    keys = torch.arange(10) - 5
    out = block(lambda rows: rows, x, residual, keys)
    inputs = (x, residual, block.norm.weight, block.norm.bias)
    found = torch.autograd.grad((out * weights).sum(), inputs)

    rate = Rate.of(0.4)
    plain = F.layer_norm(
        residual + x * keep_mask(keys, 24, rate) * rate.scale, (24,), block.norm.weight, block.norm.bias, 1e-12
    )
    expected = torch.autograd.grad((plain * weights).sum(), inputs)
    tolerance = 1e-5 if dtype == torch.float32 else 3e-2
    torch.testing.assert_close(out, plain, atol=tolerance, rtol=tolerance)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine.float(), theirs.float(), atol=10 * tolerance, rtol=tolerance)


def test_outside_training_it_is_layer_norm_of_the_sum():
    block = ResidualNorm(toy_config(hidden_size=8, norm_eps=1e-5, hidden_dropout=0.5)).eval()
    x, residual = torch.randn(3, 8), torch.randn(3, 8)
    torch.testing.assert_close(block(torch.square, x, residual), F.layer_norm(x * x + residual, (8,), eps=1e-5))


def test_before_a_sub_layer_it_normalises_what_is_read_and_adds_to_what_came():
    block = PreNorm(toy_config(hidden_size=8, norm_eps=1e-5)).eval()
    torch.nn.init.normal_(block.norm.weight)
    x, residual = torch.randn(3, 8), torch.randn(3, 8)
    torch.testing.assert_close(block.enter(residual), F.layer_norm(residual, (8,), block.norm.weight, eps=1e-5))
    torch.testing.assert_close(block(torch.square, x, residual), residual + x * x)
    bare = PreNorm(toy_config(hidden_size=8), has_norm=False)
    assert bare.enter(residual) is residual and not list(bare.parameters())


@pytest.mark.parametrize("kind", [PreNorm, ResidualNorm])
def test_dropout_of_some_rows_is_that_of_the_same_rows_of_the_pack_also_without_bias(kind):
    block = kind(toy_config(hidden_size=8, hidden_dropout=0.4, norm_bias=False)).train()
    assert block.norm.bias is None
    x, residual, rows = torch.randn(20, 8), torch.randn(20, 8), torch.tensor([3, 19, 0])
    keys = torch.arange(20)
    whole = block(torch.square, x, residual, keys)
    some = block(torch.square, x[rows], residual[rows], keys[rows])
    torch.testing.assert_close(some, whole[rows])
    assert not torch.allclose(whole, block.eval()(torch.square, x, residual))
