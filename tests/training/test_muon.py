"""The stacked update follows torch's own, matrix by matrix, and continues from its state."""

import copy

import pytest
import torch
from torch import nn

from spanwise.training.muon import StackedMuon, orthogonal

OPTIONS = {"lr": 0.02, "weight_decay": 0.1, "adjust_lr_fn": "match_rms_adamw"}


def matrices() -> nn.ParameterList:
    """Two shapes, tall and wide, one of them three times, and one that never gets a gradient."""
    torch.manual_seed(5)
    shapes = [(24, 16), (16, 24), (24, 16), (24, 16), (8, 8)]
    return nn.ParameterList([nn.Parameter(torch.randn(shape)) for shape in shapes])


def give_gradients(parameters: nn.ParameterList, step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for parameter in list(parameters)[:-1]:
        parameter.grad = torch.randn(parameter.shape, generator=generator)


def test_many_steps_follow_torchs_optimizer():
    ours, theirs = matrices(), matrices()
    stacked, one_by_one = StackedMuon(ours, **OPTIONS), torch.optim.Muon(theirs, **OPTIONS)
    for step in range(5):
        give_gradients(ours, step)
        give_gradients(theirs, step)
        stacked.step()
        one_by_one.step()
    for our, their in zip(ours, theirs, strict=True):
        assert (our - their).abs().max() < 0.002  # torch's products are bf16 on every device
    assert torch.equal(ours[-1], matrices()[-1])  # without a gradient nothing moves, nor decays


def test_it_goes_on_from_the_state_of_torchs_optimizer_and_back():
    theirs = matrices()
    one_by_one = torch.optim.Muon(theirs, **OPTIONS)
    give_gradients(theirs, 0)
    one_by_one.step()
    ours = copy.deepcopy(theirs)
    stacked = StackedMuon(ours, **OPTIONS)
    stacked.load_state_dict(copy.deepcopy(one_by_one.state_dict()))
    for optimizer, parameters in ((one_by_one, theirs), (stacked, ours)):
        give_gradients(parameters, 1)
        optimizer.step()
    for our, their in zip(ours, theirs, strict=True):
        assert (our - their).abs().max() < 0.001
    one_by_one.load_state_dict(stacked.state_dict())


def test_a_stack_in_parts_gives_the_same_update(monkeypatch):
    whole, parts = matrices(), matrices()
    for parameters in (whole, parts):
        give_gradients(parameters, 0)
    StackedMuon(whole, **OPTIONS).step()
    monkeypatch.setattr("spanwise.training.muon.STACK_BYTES", 4 * 24 * 16 * 2)
    StackedMuon(parts, **OPTIONS).step()
    for ours, theirs in zip(whole, parts, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", [(3, 8, 20), (3, 20, 8), (2, 8, 8)])
def test_directions_are_nearly_orthogonal(shape):
    torch.manual_seed(0)
    found = torch.linalg.svdvals(orthogonal(torch.randn(shape), (3.4445, -4.775, 2.0315), 5, 1e-7).float())
    assert found[..., :-1].min() > 0.3
    assert found.max() < 1.4
