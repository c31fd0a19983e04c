"""Decay reaches matrices only, tied weights count once, and clipping is by the global norm."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn
from toy import ToyModel

from spanwise.errors import ConfigError
from spanwise.training.checkpoint import load_tensors, save_checkpoint
from spanwise.training.optim import (
    Lamb,
    MuonWithAdamW,
    build_optimizer,
    clip_gradients,
    decay_groups,
    gradient_norm,
    linear_matrices,
)
from spanwise.training.plan import TrainingOptions


def small_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16), nn.LayerNorm(16))


def take_steps(model, optimizer, count, seed=1):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(count):
        optimizer.zero_grad()
        model(torch.randint(0, 20, (8,), generator=generator)).square().sum().backward()
        optimizer.step()


def test_only_matrices_of_linear_layers_go_to_muon_and_nothing_is_lost():
    model = small_model()
    optimizer = build_optimizer(model, TrainingOptions(optimizer="muon", max_steps=1))
    assert isinstance(optimizer, MuonWithAdamW)
    muon, adamw = optimizer.parts
    in_muon = {p for group in muon.param_groups for p in group["params"]}
    in_adamw = {p for group in adamw.param_groups for p in group["params"]}
    assert in_muon == linear_matrices(model) == {model[1].weight, model[3].weight}
    assert in_muon | in_adamw == set(model.parameters()) and not in_muon & in_adamw


def test_an_update_pulls_the_directions_of_a_gradient_to_one_size():
    """Eight tokens give a gradient of rank 8 at most: its first seven directions become nearly equal."""
    model = small_model()
    optimizer = build_optimizer(model, TrainingOptions(optimizer="muon", max_steps=1, weight_decay=0.0))
    before = model[1].weight.detach().clone()
    take_steps(model, optimizer, 1)
    update = torch.linalg.svdvals(before - model[1].weight.detach())
    gradient = torch.linalg.svdvals(model[1].weight.grad)
    assert update[0] / update[6] < 2.0 < gradient[0] / gradient[6]


def test_a_restored_optimizer_goes_on_bit_for_bit(tmp_path):
    options = TrainingOptions(optimizer="muon", max_steps=1)
    whole = small_model()
    optimizer = build_optimizer(whole, options)
    take_steps(whole, optimizer, 3)
    folder = save_checkpoint(tmp_path, 3, whole, optimizer, {}, lambda target: None, keep=1)
    take_steps(whole, optimizer, 2, seed=2)

    again = small_model()
    restored = build_optimizer(again, options)
    load_tensors(folder, again, restored)
    take_steps(again, restored, 2, seed=2)
    for ours, theirs in zip(again.parameters(), whole.parameters(), strict=True):
        assert torch.equal(ours, theirs)


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


def test_biases_and_layer_norm_do_not_decay_and_tied_weights_appear_once():
    decayed, plain = decay_groups(ToyModel())

    assert decayed == ["table.weight", "mix.weight"]
    assert plain == ["mix.bias", "norm.weight", "norm.bias", "decoder.bias"]


def test_the_groups_carry_the_options():
    options = TrainingOptions(weight_decay=0.3, adam_beta1=0.8, adam_beta2=0.98, adam_epsilon=1e-7)
    optimizer = build_optimizer(ToyModel(), options)

    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.3, 0.0]
    assert {(group["betas"], group["eps"]) for group in optimizer.param_groups} == {((0.8, 0.98), 1e-7)}


@pytest.mark.parametrize("optimizer", ["adamw", "muon", "lamb"])
def test_heads_may_learn_at_a_rate_of_their_own(optimizer):
    model = nn.ModuleDict({"encoder": nn.Linear(4, 4), "heads": nn.Linear(4, 4)})
    options = TrainingOptions(optimizer=optimizer, learning_rate=1e-4, head_learning_rate=1e-2)

    groups = build_optimizer(model, options).param_groups

    scale = {parameter: group["rate_scale"] for group in groups for parameter in group["params"]}
    assert {round(scale[p], 6) for p in model["encoder"].parameters()} == {1.0}
    assert {round(scale[p], 6) for p in model["heads"].parameters()} == {100.0}
    assert sum(len(group["params"]) for group in groups) == 4


def test_models_without_trainable_fp32_parameters_are_refused():
    with pytest.raises(ConfigError, match="no trainable parameter"):
        build_optimizer(nn.Linear(2, 2).requires_grad_(False), TrainingOptions())
    with pytest.raises(ConfigError, match="float32"):
        build_optimizer(nn.Linear(2, 2).to(torch.bfloat16), TrainingOptions())


@pytest.mark.parametrize(("limit", "norm"), [(1.0, 1.0), (100.0, 5.0), (0.0, 5.0)])
def test_gradients_are_scaled_to_the_global_norm(limit, norm):
    gradients = [torch.tensor([3.0]), torch.tensor([[0.0, 4.0]])]

    measured = gradient_norm(gradients)
    clip_gradients(gradients, measured, limit)

    assert measured.item() == pytest.approx(5.0)
    assert gradient_norm(gradients).item() == pytest.approx(norm, rel=1e-5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e38])
def test_one_bad_element_makes_the_norm_not_finite(bad):
    assert not torch.isfinite(gradient_norm([torch.ones(5), torch.tensor([1.0, bad])]))


def test_layers_learn_the_slower_the_further_they_stand_from_the_head():
    layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    encoder = nn.ModuleDict({"embeddings": nn.Linear(2, 2), "layers": layers, "pooler": nn.Linear(2, 2)})
    model = nn.ModuleDict({"encoder": encoder, "head": nn.Linear(2, 2)})
    options = TrainingOptions(learning_rate=1e-3, head_learning_rate=2e-3, layer_decay=0.5)

    groups = build_optimizer(model, options).param_groups

    scale = {parameter: group["rate_scale"] for group in groups for parameter in group["params"]}
    rates = [scale[part.weight] for part in (encoder["embeddings"], *layers, encoder["pooler"], model["head"])]
    assert rates == [0.0625, 0.125, 0.25, 0.5, 1.0, 2.0]
    assert scale[layers[0].bias] == 0.125 and len(scale) == 12
    layers[0].requires_grad_(False)
    groups = build_optimizer(model, options).param_groups
    scale = {parameter: group["rate_scale"] for group in groups for parameter in group["params"]}
    assert scale[layers[2].weight] == 0.5 and layers[0].weight not in scale


def test_optimizers_start_without_torch_s_compiler():
    """Its import would make every start two seconds longer."""
    code = """
import sys, torch
from spanwise.training.optim import build_optimizer
from spanwise.training.plan import TrainingOptions
model = torch.nn.Linear(3, 2)
for name in ("adamw", "muon", "lamb"):
    optimizer = build_optimizer(model, TrainingOptions(optimizer=name, max_steps=1))
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    assert model.weight.grad is None
print("torch._dynamo" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
