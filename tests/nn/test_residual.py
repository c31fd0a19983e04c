import pytest
import torch
import torch.nn.functional as F

from spanwise.nn.residual import LayerNorm, ResidualNorm


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_constant_row_gives_no_nan_in_any_type(dtype):
    norm = LayerNorm(16, eps=1e-12)
    out = norm(torch.full((3, 16), 2.5, dtype=dtype))
    assert out.dtype == torch.float32 and torch.isfinite(out).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_fused_node_has_the_gradients_of_its_plain_parts(dtype):
    block = ResidualNorm(24, eps=1e-12, dropout=0.4).train()
    torch.nn.init.normal_(block.norm.weight)
    x = torch.randn(10, 24).to(dtype).requires_grad_()
    residual = torch.randn(10, 24, requires_grad=True)
    weights = torch.randn(10, 24)
    torch.manual_seed(5)
    out = block(lambda rows: rows, x, residual)
    inputs = (x, residual, block.norm.weight, block.norm.bias)
    found = torch.autograd.grad((out * weights).sum(), inputs)

    from spanwise.nn.dropout import draw_keep_mask

    torch.manual_seed(5)
    mask = draw_keep_mask(x.shape, 0.4, x.device)
    plain = F.layer_norm(residual + x * mask.keep * mask.scale, (24,), block.norm.weight, block.norm.bias, 1e-12)
    expected = torch.autograd.grad((plain * weights).sum(), inputs)
    tolerance = 1e-5 if dtype == torch.float32 else 3e-2
    torch.testing.assert_close(out, plain, atol=tolerance, rtol=tolerance)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine.float(), theirs.float(), atol=10 * tolerance, rtol=tolerance)


def test_outside_training_it_is_layer_norm_of_the_sum():
    block = ResidualNorm(8, eps=1e-5, dropout=0.5).eval()
    x, residual = torch.randn(3, 8), torch.randn(3, 8)
    torch.testing.assert_close(block(torch.square, x, residual), F.layer_norm(x * x + residual, (8,), eps=1e-5))
