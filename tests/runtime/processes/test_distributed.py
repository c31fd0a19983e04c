"""Who a process is; what processes do together is in tests/training/test_reduce.py."""

import os
import sys
from types import SimpleNamespace

import pytest
import torch

from spanwise.errors import ConfigError, PeerLostError
from spanwise.runtime.processes.distributed import Group, World, join_processes, world_of_environment
from spanwise.runtime.processes.launch import launch

LOADS_LATE = """
import os, sys
import torch
from spanwise.runtime.processes.distributed import join_processes


def threads():
    return [open(f"/proc/self/task/{number}/comm").read().strip() for number in os.listdir("/proc/self/task")]


with join_processes() as group:
    import torch.distributed.nn  # as Transformers does when it saves a model

    assert group.gather(group.world.rank) == [0, 1]
    group.add([torch.ones(3)])
    assert any("gloo" in name for name in threads()), threads()
    del group
sys.exit([name for name in threads() if "gloo" in name] != [])
"""
NAMES = {"WORLD_SIZE": "4", "RANK": "3", "LOCAL_RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


@pytest.fixture
def named(monkeypatch):
    for name, value in NAMES.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_a_process_that_nobody_launched_is_alone(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)

    assert world_of_environment() == World(rank=0, size=1, local_rank=0)
    assert world_of_environment().is_leader
    with join_processes() as group:
        assert group is None


def test_a_launcher_says_who_a_process_is(named):
    world = world_of_environment()

    assert world == World(rank=3, size=4, local_rank=1)
    assert not world.is_leader


@pytest.mark.parametrize("name", ["RANK", "MASTER_ADDR", "MASTER_PORT"])
def test_half_a_launch_is_refused_with_the_missing_name(named, name):
    named.delenv(name)

    with pytest.raises(ConfigError, match=name):
        world_of_environment()


def test_a_world_that_is_no_number_is_refused(named):
    named.setenv("WORLD_SIZE", "two")

    with pytest.raises(ConfigError, match="WORLD_SIZE='two'"):
        world_of_environment()


@pytest.mark.parametrize(
    ("processes", "device", "said"),
    [
        ([("ab", 0), ("ab", 1)], "cuda", ""),
        ([("a", 0), ("b", 0)], "cuda", ""),  # each is shown its own alone
        ([("a", 0), ("b", 0)], "cuda:0", ""),
        ([("a", 0), ("a", 0)], "cpu", ""),
        ([("ab", 0), ("ab", 1), ("ab", 0)], "cuda", "2 processes would share one GPU of .* one process per GPU"),
        ([("ab", 0), ("ab", 1)], "cuda:1", "2 processes would share one GPU of .*; use --device cuda, as"),
    ],
)
@pytest.mark.parametrize("has_uuids", [True, False])
def test_processes_that_would_meet_on_one_gpu_are_refused_and_no_others(
    processes, device, said, has_uuids, monkeypatch
):
    """Each process sees some cards, by their letters, and stands on one of them."""
    gathered, group = [], Group(World(size=len(processes)))
    monkeypatch.setattr(Group, "gather", lambda self, value: gathered.append(value) or [value])
    for seen, current in processes:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", ",".join(seen))
        properties = [SimpleNamespace(uuid=card) if has_uuids else SimpleNamespace() for card in seen]
        monkeypatch.setattr(torch.cuda, "current_device", lambda current=current: current)
        monkeypatch.setattr(torch.cuda, "get_device_properties", properties.__getitem__)
        group.check_device(torch.device(device))
    monkeypatch.setattr(Group, "gather", lambda self, value: gathered)

    if not said:
        return group.check_device(torch.device(device))
    with pytest.raises(ConfigError, match=said):
        group.check_device(torch.device(device))


def test_what_a_collective_says_is_told_and_memory_of_this_process_is_not_the_end_of_another():
    group = Group(World(size=2))

    with pytest.raises(PeerLostError, match=r"has gone.*Duplicate GPU detected"), group.meeting():
        raise RuntimeError("Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000")
    with pytest.raises(torch.OutOfMemoryError), group.meeting():
        raise torch.OutOfMemoryError("CUDA out of memory.")


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="the names of threads are Linux's")
def test_no_thread_of_the_group_outlives_its_block_whatever_was_loaded_in_it(tmp_path):
    (tmp_path / "late.py").write_text(LOADS_LATE)

    assert launch([sys.executable, str(tmp_path / "late.py")], 2, num_threads=1) == 0
