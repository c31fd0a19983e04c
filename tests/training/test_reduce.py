"""What packs and processes share is added exactly."""

import json
from functools import partial
from pathlib import Path

import pytest
import torch
from processes import SharedSource, both, run
from safetensors.torch import load_file
from tests.reliability.kills import ended, start_group
from torch import nn

from spanwise.errors import PeerLostError
from spanwise.runtime.progress import read_metrics
from spanwise.training.loop import TIMING_FIELDS
from spanwise.training.reduce import SingleProcess


def test_counts_of_all_packs_are_added_by_name():
    counts = SingleProcess().counts([{"mlm": 3, "sbo": 0}, {"mlm": 4}, {}])

    assert counts == {"mlm": 7, "sbo": 0}


def test_one_process_changes_neither_gradients_nor_decisions():
    parameter = nn.Parameter(torch.zeros(2))
    parameter.grad = torch.tensor([1.0, 2.0])
    alone = SingleProcess()
    alone.gradients([parameter])

    assert parameter.grad.tolist() == [1.0, 2.0]
    assert alone.gather("mine") == ["mine"] and alone.from_leader("mine") == "mine" and alone.any(True)
    assert [alone.number_in_step(k) for k in range(3)] == [0, 1, 2]


@pytest.fixture(scope="module")
def left(tmp_path_factory) -> tuple[Path, list[int]]:
    """The folder of what two processes did, and their exit statuses."""
    folder = tmp_path_factory.mktemp("two")
    statuses = ended(start_group(partial(both, folder), folder, 2))
    expected = [PeerLostError.exit_status, 9]  # the last run loses one of them
    assert statuses == expected, (folder.parent / f"{folder.name}.err").read_text()
    return folder, statuses


@pytest.fixture(scope="module")
def two(left) -> tuple[Path, list[dict]]:
    """The folder and what each process told."""
    return left[0], [json.loads((left[0] / f"told-{rank}.json").read_text()) for rank in (0, 1)]


def tensors_of(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "final" / "model.safetensors")


def lines_of(folder: Path) -> list[dict]:
    return [
        {k: v for k, v in line.items() if k not in TIMING_FIELDS} for line in read_metrics(folder / "metrics.jsonl")
    ]


def assert_same_bits(one: Path, other: Path) -> None:
    first, second = tensors_of(one), tensors_of(other)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_small_things_are_gathered_and_tensors_added_on_every_process(two):
    for told in two[1]:
        assert told["gathered"] == [{"rank": 0}, {"rank": 1}]
        assert told["added"] == [[3.0], [10.0, 10.0, 10.0], [2.0, 800_002.0]]


def test_two_processes_train_the_very_bits_of_one(two, tmp_path):
    folder, told = two
    alone = run(tmp_path / "alone", None)

    assert_same_bits(folder / "whole", tmp_path / "alone")
    assert lines_of(folder / "whole") == lines_of(tmp_path / "alone")
    assert told[0]["whole"]["losses"] == told[1]["whole"]["losses"] == alone["losses"]
    assert told[0]["whole"]["evaluation"] == told[1]["whole"]["evaluation"] == alone["evaluation"]


def test_a_signal_to_one_process_stops_all_and_resuming_gives_the_same_bits(two):
    folder, told = two
    assert [one["interrupted"] for one in told] == [True, True]
    assert_same_bits(folder / "whole", folder / "parts")
    assert lines_of(folder / "whole") == lines_of(folder / "parts")


def test_bad_numbers_in_one_process_are_named_alike_in_all(two):
    folder, told = two
    assert told[0]["bad"] == told[1]["bad"]
    assert "step 4, pack 1 (blocks 301): the loss of 'next' is inf" in told[0]["bad"]
    assert json.loads((folder / "bad" / "bad_step.json").read_text())["pack"] == 1


@pytest.mark.parametrize(("name", "packs"), [("three", 3), ("one", 1)])
def test_packs_that_can_not_be_dealt_out_evenly_weigh_the_same(two, name, packs, tmp_path):
    run(tmp_path / "alone", None, source=SharedSource(packs=packs))
    one, other = tensors_of(two[0] / name), tensors_of(tmp_path / "alone")
    for key in one:  # three are added in another order
        torch.testing.assert_close(one[key], other[key], rtol=1e-5, atol=1e-6)


def test_the_clock_of_the_leader_ends_a_budget_for_all(two):
    folder, told = two
    assert told[0]["budget"]["steps"] == told[1]["budget"]["steps"] > 8
    plan = [json.loads(line) for line in (folder / "budget" / "plan.jsonl").read_text().splitlines()]
    assert len(plan) > 1 and plan[-1]["total_steps"] == told[0]["budget"]["steps"]


def test_a_process_that_dies_is_missed_by_the_other_which_ends_too(left):
    folder, _ = left
    assert "another process of this run has gone" in (folder / "peer-lost.txt").read_text()
    assert PeerLostError.exit_status == 6
    assert (folder / "lost" / "checkpoints" / "step-000000003").is_dir()
