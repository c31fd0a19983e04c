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


def several_shapes() -> nn.ParameterList:
    """Short sides of 16 (wide, tall and square) and of 8."""
    torch.manual_seed(6)
    shapes = [(24, 16), (16, 32), (16, 16), (8, 12), (24, 16), (8, 12)]
    return nn.ParameterList([nn.Parameter(torch.randn(shape)) for shape in shapes])


def test_matrices_filled_up_to_one_stack_get_the_updates_of_their_own_shapes(monkeypatch):
    """What a GPU computes, computed here, in numbers that show more than rounding."""
    monkeypatch.setattr("spanwise.training.muon.has_bf16", lambda device: False)
    apart, together = several_shapes(), several_shapes()
    by_shape, by_height = StackedMuon(apart, **OPTIONS), StackedMuon(together, **OPTIONS)
    group = by_height.param_groups[0]
    for step in range(4):
        give_gradients(apart, step)
        give_gradients(together, step)
        with torch.no_grad():
            for height in (16, 8):
                alike = [one for one in list(together)[:-1] if min(one.shape) == height]
                by_height._update(alike, group)
        by_shape.step()
    for ours, theirs in zip(together, apart, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-6)
    assert len(by_height._filled) == 1  # of two matrices of one shape the second had no gradient: a stack as it is


@pytest.mark.parametrize("is_deterministic", [False, True])
def test_a_gpu_gets_one_stack_for_each_short_side(is_deterministic):
    with torch.device("meta"):
        parameters = several_shapes()
    torch.use_deterministic_algorithms(is_deterministic)
    try:
        stacks = [
            [one.shape for one in stack] for stack in StackedMuon(parameters, **OPTIONS)._stacks(list(parameters))
        ]
    finally:
        torch.use_deterministic_algorithms(False)
    sizes = sorted(len(stack) for stack in stacks)
    assert sizes == ([1, 1, 2, 2] if is_deterministic else [2, 4])


def test_a_stack_that_filling_up_would_more_than_double_stays_apart():
    with torch.device("meta"):
        parameters = [nn.Parameter(torch.empty(16, width)) for width in (16, 16, 16, 400)]
    assert sorted(len(stack) for stack in StackedMuon(parameters, **OPTIONS)._stacks(parameters)) == [1, 3]


def test_a_bad_step_leaves_a_filled_up_stack_as_it_was():
    parameters = several_shapes()
    optimizer = StackedMuon(parameters, **OPTIONS)
    give_gradients(parameters, 0)
    alike = [one for one in list(parameters)[:-1] if min(one.shape) == 16]
    with torch.no_grad():
        optimizer._update(alike, optimizer.param_groups[0])
        before = [one.clone() for one in alike], [optimizer.state[one]["momentum_buffer"].clone() for one in alike]
        alike[0].grad[0, 0] = float("nan")
        optimizer.found_inf = torch.ones(())
        optimizer._update(alike, optimizer.param_groups[0])
    after = alike, [optimizer.state[one]["momentum_buffer"] for one in alike]
    assert all(torch.equal(x, y) for old, new in zip(before, after, strict=True) for x, y in zip(old, new, strict=True))
