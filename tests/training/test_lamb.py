"""LAMB against its formula, worked out by hand."""

import numpy as np
import pytest
import torch

from spanwise.training.lamb import Lamb


def by_hand(weights, gradients, rate, decay, beta1=0.9, beta2=0.999, eps=1e-6):
    """Algorithm 2 of You et al. in numpy."""
    m, v = np.zeros_like(weights), np.zeros_like(weights)
    for step, g in enumerate(gradients, 1):
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        u = (m / (1 - beta1**step)) / (np.sqrt(v / (1 - beta2**step)) + eps) + decay * weights
        ratio = np.linalg.norm(weights) / np.linalg.norm(u) if weights.ndim >= 2 else 1.0
        weights = weights - rate * ratio * u
    return weights


@pytest.mark.parametrize(("shape", "decay"), [((4, 6), 0.01), ((4, 6), 0.0), ((7,), 0.0)])
def test_updates_are_those_of_the_paper(shape, decay):
    draw = np.random.default_rng(0)
    start, gradients = draw.normal(size=shape), draw.normal(size=(5, *shape))
    parameter = torch.nn.Parameter(torch.tensor(start))
    optimizer = Lamb([parameter], lr=0.02, weight_decay=decay)
    for gradient in gradients:
        parameter.grad = torch.tensor(gradient)
        optimizer.step()
    np.testing.assert_allclose(parameter.detach().numpy(), by_hand(start, gradients, 0.02, decay), rtol=1e-6, atol=1e-8)


def test_a_matrix_of_zeros_and_a_gradient_of_zeros_give_no_division_by_zero():
    fresh, still = torch.nn.Parameter(torch.zeros(3, 3)), torch.nn.Parameter(torch.ones(3, 3))
    optimizer = Lamb([fresh, still], lr=0.1, weight_decay=0.0)
    fresh.grad, still.grad = torch.ones(3, 3), torch.zeros(3, 3)
    optimizer.step()
    torch.testing.assert_close(fresh.detach(), torch.full((3, 3), -0.1), rtol=1e-4, atol=1e-6)
    assert torch.equal(still.detach(), torch.ones(3, 3))


def test_a_step_is_as_long_as_the_rate_times_the_matrix_whatever_the_gradients_scale():
    steps = []
    for scale in (1e-3, 1e3):
        parameter = torch.nn.Parameter(torch.full((5, 5), 2.0, dtype=torch.float64))
        optimizer = Lamb([parameter], lr=0.01, weight_decay=0.0)
        parameter.grad = torch.linspace(-1, 1, 25, dtype=torch.float64).view(5, 5) * scale
        optimizer.step()
        steps.append(float(torch.linalg.vector_norm(parameter.detach() - 2.0)))
    assert steps == pytest.approx([0.01 * 10.0] * 2, rel=1e-4)
