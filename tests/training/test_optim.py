"""Decay reaches matrices only, tied weights count once, and clipping is by the global norm."""

import pytest
import torch
from torch import nn
from toy import ToyModel

from spanwise.errors import ConfigError
from spanwise.training.optim import build_optimizer, clip_gradients, decay_groups, gradient_norm
from spanwise.training.plan import TrainingOptions


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
