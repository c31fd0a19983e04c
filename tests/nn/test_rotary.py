"""Rotary positions beside those of transformers, and what makes them positions."""

import pytest
import torch
from transformers.models.modernbert.modeling_modernbert import apply_rotary_pos_emb

from spanwise.nn.rotary import rotate, waves

H, K = 2, 8
TABLE = waves(100.0, K, 50, torch.device("cpu"))


def by_transformers(qkv, positions):
    rates = 1.0 / 100.0 ** (torch.arange(0, K, 2) / K)
    angles = (positions[:, None] * rates).repeat(1, 2)[None]
    q, k, v = qkv.view(1, len(qkv), 3, H, K).permute(2, 0, 3, 1, 4)
    q, k = apply_rotary_pos_emb(q, k, angles.cos(), angles.sin())
    return torch.stack((q, k, v)).permute(1, 3, 0, 2, 4).reshape(len(qkv), 3 * H * K)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.bfloat16, 1e-2), (torch.float64, 1e-6)]
)  # float64 takes the path of a GPU
def test_values_and_gradients_equal_those_of_transformers(dtype, tolerance):
    positions = torch.tensor([0, 1, 49, 3, 3, 17] * 6)
    qkv = torch.randn(36, 3 * H * K, generator=torch.Generator().manual_seed(1)).to(dtype).requires_grad_()
    weights = torch.randn(36, 3 * H * K, generator=torch.Generator().manual_seed(2)).to(dtype)
    ours, theirs = rotate(qkv, positions, TABLE), by_transformers(qkv, positions)
    assert ours.dtype == dtype
    torch.testing.assert_close(ours, theirs.to(dtype), atol=tolerance, rtol=tolerance)
    gradients = [torch.autograd.grad((out * weights).sum(), qkv)[0] for out in (ours, theirs)]
    torch.testing.assert_close(*gradients, atol=2 * tolerance, rtol=2 * tolerance)


def test_products_of_queries_and_keys_depend_on_their_distance_alone():
    qkv = torch.randn(1, 3 * H * K).expand(2, -1)
    near = [rotate(qkv, torch.tensor([p, p + 5]), TABLE).view(2, 3, -1) for p in (0, 30)]
    products = [(part[0, 0, :K] * part[1, 1, :K]).sum() for part in near]
    torch.testing.assert_close(*products)


def test_waves_made_in_inference_can_be_trained_with():
    waves.cache_clear()
    with torch.inference_mode():
        table = waves(100.0, K, 50, torch.device("cpu"))
    assert not table.is_inference()
