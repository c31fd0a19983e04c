"""Muon for the matrices of linear layers, AdamW for the rest."""

import torch
from torch import nn

from spanwise.training.checkpoint import load_tensors, save_checkpoint
from spanwise.training.muon import MuonWithAdamW, linear_matrices
from spanwise.training.optim import build_optimizer
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
