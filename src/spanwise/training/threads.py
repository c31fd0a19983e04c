"""The number of threads that a run goes on with."""

import os
import platform
from collections.abc import Callable

import torch

from spanwise.runtime.files import JsonObject
from spanwise.runtime.machine import num_usable_cores
from spanwise.runtime.wording import counted
from spanwise.training.reduce import Reducer


def keep_threads(state: JsonObject, reducer: Reducer, say: Callable[[str], None]) -> None:
    """Take the number of threads that a checkpoint with this `state` was computed with: it decides the last bits.

    Where another number of processes goes on, each keeps its own threads, as the cores are shared out anew. No process
    takes more threads than its share of the cores, and `say` is told where that is fewer than before. Every process
    calls this.
    """
    before, threads = state["numerics"], state["numerics"]["threads"]
    was = state.get("processes", before.get("processes", 1))  # checkpoints of an earlier version have the second alone
    if was != reducer.size:
        return
    cores = _cores_of_this_process(reducer)
    if threads == torch.get_num_threads():
        return
    if threads > cores:
        now = f"{counted(cores, 'thread')}, as its share of this machine is {counted(cores, 'core')}"
        say(f"The run was computed with {threads} threads; this process takes {now}.")
    torch.set_num_threads(min(threads, cores))


def _cores_of_this_process(reducer: Reducer) -> int:
    """Return this process's share of the cores that it may use. Some launchers bind each process to cores of its own,
    so only processes with the very same cores share them."""
    bound = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    mine = (platform.node(), bound)
    return max(1, num_usable_cores() // reducer.gather(mine).count(mine))
