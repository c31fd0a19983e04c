import pytest
import torch

from spanwise.nn.dropout import draw_keep_mask, dropout


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_rate_and_the_expected_value_are_kept(p):
    torch.manual_seed(0)
    out = dropout(torch.ones(400_000), p, training=True)
    assert abs((out == 0).float().mean().item() - p) < 0.003
    assert abs(out.mean().item() - 1.0) < 0.02


def test_masks_repeat_with_the_seed_and_have_no_pattern_between_neighbours():
    torch.manual_seed(3)
    first = draw_keep_mask(torch.Size((1000, 101)), 0.5, torch.device("cpu")).keep
    torch.manual_seed(3)
    assert torch.equal(first, draw_keep_mask(torch.Size((1000, 101)), 0.5, torch.device("cpu")).keep)
    flat = first.flatten().float() - 0.5
    for lag in (1, 2, 3, 4, 8):
        assert abs((flat[:-lag] * flat[lag:]).mean().item()) < 0.004  # 4 standard deviations


def test_the_gradient_flows_through_kept_elements_alone():
    x = torch.randn(64, 33, requires_grad=True)
    out = dropout(x, 0.3, training=True)
    out.sum().backward()
    scale = 1 / (1 - round(0.3 * 65536) / 65536)
    torch.testing.assert_close(x.grad, (out != 0) * scale)


def test_nothing_happens_outside_training_or_at_rate_zero():
    x = torch.randn(4)
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0, training=True) is x
