"""A resumed run takes the threads of before only where they can give the same bits."""

import os
from types import SimpleNamespace

import pytest
import torch

from spanwise.training.threads import keep_threads

EXACT = {"threads": 3, "exact_sums": True}


def resumed(monkeypatch, state, num_processes, others=lambda mine: mine):
    """The threads that the first of some processes takes where 4 cores are its to use (None: its own), and what it
    says. `others` makes what each other process gives of what this one gives."""
    said, set_to = [], []
    monkeypatch.setattr("spanwise.training.threads.num_usable_cores", lambda: 4)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 9)
    monkeypatch.setattr(torch, "set_num_threads", set_to.append)
    reducer = SimpleNamespace(
        size=num_processes, gather=lambda mine: [mine] + [others(mine) for _ in range(1, num_processes)]
    )
    keep_threads(state, reducer, said.append)
    return (set_to or [None])[0], said


@pytest.mark.parametrize(
    ("state", "now", "taken"),
    [
        ({"numerics": {"threads": 3}}, 1, 3),
        ({"numerics": {"threads": 3}}, 2, None),
        ({"numerics": {"threads": 2, "processes": 2}}, 2, 2),
        ({"numerics": {**EXACT, "threads": 2}, "processes": 2}, 2, 2),
        ({"numerics": EXACT, "processes": 2}, 1, None),
    ],
)
def test_threads_are_kept_with_the_number_of_processes(state, now, taken, monkeypatch):
    assert resumed(monkeypatch, state, now) == (taken, [])


@pytest.mark.parametrize(("processes", "taken"), [(1, 4), (2, 2), (4, 1), (5, 1)])
def test_no_process_takes_more_threads_than_its_share_of_the_cores(processes, taken, monkeypatch):
    threads, said = resumed(monkeypatch, {"numerics": {"threads": 8}, "processes": processes}, processes)

    assert threads == taken and len(said) == 1
    assert f"with 8 threads; this process takes {taken} thread" in said[0]


def test_processes_with_cores_of_their_own_share_none(monkeypatch):
    """On another machine, or bound to other cores of this one, as Slurm binds them."""
    state = {"numerics": {"threads": 4}, "processes": 2}

    assert resumed(monkeypatch, state, 2, others=lambda mine: ("elsewhere", mine[1])) == (4, [])
    assert resumed(monkeypatch, state, 2, others=lambda mine: (mine[0], [10_000])) == (4, [])


def test_every_process_says_its_cores_whatever_its_own_threads_are(monkeypatch):
    """The others would wait for one that does not."""
    asked = []
    reducer = SimpleNamespace(size=2, gather=lambda mine: asked.append(mine) or [mine, mine])
    state = {"numerics": {"threads": torch.get_num_threads()}, "processes": 2}
    keep_threads(state, reducer, pytest.fail)

    assert len(asked) == 1 and (not hasattr(os, "sched_getaffinity") or asked[0][1])
