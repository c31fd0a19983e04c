"""Sums of gradients that do not depend on the order of packs, nor on who computed them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch
from processes import SharedSource, run
from safetensors.torch import load_file
from torch import nn
from toy import ToyModel
from worlds import shared_run

from spanwise.errors import NumericsError
from spanwise.runtime.progress import read_metrics
from spanwise.training.exact import ExactGradients
from spanwise.training.loop import TIMING_FIELDS
from spanwise.training.optim import gradient_norm
from spanwise.training.pieces import Piece, whole_pieces
from spanwise.training.reduce import SingleProcess


def pieces(*parameters: nn.Parameter) -> list[Piece]:
    return whole_pieces(nn.ParameterList(parameters))


def added(packs, shape=(3, 4)) -> torch.Tensor:
    """The exact sum of the gradients of packs, taken in this order after the first."""
    parameter, table = nn.Parameter(torch.zeros(shape)), nn.Parameter(torch.zeros(2))
    sums = ExactGradients(pieces(parameter, table), SingleProcess())
    for pack in packs:
        parameter.grad = pack.clone()
        table.grad = torch.full((2,), 5.0)
        sums.take()
        assert parameter.grad is None
    sums.meet()
    assert parameter.grad is not None and table.grad is not None
    assert parameter.grad.isnan().any() or table.grad.tolist() == [5.0 * len(packs)] * 2
    return parameter.grad


def test_the_order_of_packs_changes_no_bit():
    first, *others = torch.randn(6, 3, 4, generator=torch.Generator().manual_seed(1)) * torch.logspace(-3, 3, 4)
    sums = {tuple(added([first, *order]).flatten().tolist()) for order in itertools.permutations(others)}
    plain = {tuple(sum(order, first).flatten().tolist()) for order in itertools.permutations(others)}

    assert len(sums) == 1 < len(plain)


def test_the_sum_is_that_of_real_numbers_rounded_once():
    packs = torch.randn(9, 3, 4, generator=torch.Generator().manual_seed(2))
    right = packs.double().sum(0)

    torch.testing.assert_close(added(list(packs)), right.float(), rtol=1.2e-7, atol=1e-11)


def test_a_tensor_that_the_first_pack_did_not_reach_is_added_all_the_same():
    packs = [torch.zeros(3, 4), torch.full((3, 4), 0.1), torch.full((3, 4), 7.0)]
    assert torch.allclose(added(packs), torch.full((3, 4), 7.1))

    never = nn.Parameter(torch.zeros(2))
    reached = nn.Parameter(torch.zeros(2))
    sums = ExactGradients(pieces(never, reached), SingleProcess())
    reached.grad = torch.ones(2)
    sums.take()
    sums.meet()
    assert never.grad is None and reached.grad is not None


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e30])
def test_a_gradient_that_is_no_number_or_beyond_the_room_spoils_the_sum(bad):
    worse = torch.zeros(3, 4)
    worse[1, 2] = bad

    assert added([torch.ones(3, 4), worse]).isnan().all()


def test_the_norm_is_that_of_all_numbers_and_does_not_depend_on_their_order():
    generator = torch.Generator().manual_seed(4)
    numbers = torch.randn(4000, generator=generator) * torch.logspace(-6, 2, 4000)
    norms, plain = set(), set()
    for _ in range(6):
        numbers = numbers[torch.randperm(4000, generator=generator)]
        parameter, small = nn.Parameter(torch.zeros(40, 100)), nn.Parameter(torch.zeros(1))
        sums = ExactGradients(pieces(parameter, small), SingleProcess())
        parameter.grad, small.grad = numbers.view(40, 100).clone(), torch.full((1,), 1e-20)
        norms.add(sums.norm().item())
        plain.add(gradient_norm([parameter.grad, small.grad]).item())

    assert len(norms) == 1 < len(plain)
    assert norms.pop() == pytest.approx(numbers.double().norm().item(), rel=1e-7)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_the_norm_of_what_is_no_number_is_none(bad):
    parameter = nn.Parameter(torch.zeros(3))
    parameter.grad = torch.tensor([1.0, bad, 2.0])

    assert not ExactGradients(pieces(parameter), SingleProcess()).norm().isfinite()


def test_a_run_with_exact_sums_names_the_step_whose_gradient_went_bad(tmp_path):
    class Exploding(ToyModel):
        def forward(self, batch):
            found = super().forward(batch)
            if batch.ids == (301,):
                object.__setattr__(found["next"], "sum", found["next"].sum * 1e36)
            return found

    with pytest.raises(NumericsError, match="step 4"):
        run(tmp_path / "bad", None, model=Exploding(), exact_sums=True)


def one_run(folder: Path) -> tuple[dict, list[dict]]:
    tensors = load_file(folder / "final" / "model.safetensors")
    lines = read_metrics(folder / "metrics.jsonl")
    return tensors, [{k: v for k, v in line.items() if k not in TIMING_FIELDS} for line in lines]


def test_any_number_of_processes_and_one_that_changes_at_each_restart_give_one_result(tmp_path):
    """Five packs a step on 1, 2 and 3 processes, and a run that goes on with 3, then 1, then 2 of them."""
    run(tmp_path / "alone", None, source=SharedSource(packs=5), exact_sums=True)
    for size in (2, 3):
        shared_run(tmp_path / f"by-{size}", size=size, steps=9)
    for size, steps in ((3, 4), (1, 7), (2, 9)):
        shared_run(tmp_path / "elastic", size=size, steps=steps)

    tensors, lines = one_run(tmp_path / "alone")
    for name in ("by-2", "by-3", "elastic"):
        theirs, their_lines = one_run(tmp_path / name)
        assert all(torch.equal(theirs[key], tensors[key]) for key in tensors), name
        assert their_lines == lines, name
