"""The number of threads that a run goes on with."""

from collections.abc import Callable

import torch

from spanwise.runtime.files import JsonObject
from spanwise.runtime.machine import num_usable_cores
from spanwise.runtime.wording import counted


def keep_threads(state: JsonObject, num_processes: int, say: Callable[[str], None]) -> None:
    """Take the number of threads that a checkpoint with this `state` was computed with: it decides the last bits.

    Where another number of processes goes on, each keeps its own threads, as the cores are shared out anew. No process
    takes more threads than it has cores, and `say` is told where that is fewer than before.
    """
    before, threads = state["numerics"], state["numerics"]["threads"]
    was = state.get("processes", before.get("processes", 1))  # checkpoints of an earlier version have the second alone
    if was != num_processes or threads == torch.get_num_threads():
        return
    cores = num_usable_cores()
    if threads > cores:
        now = f"{counted(cores, 'thread')}, as it may use {counted(cores, 'core')}"
        say(f"The run was computed with {threads} threads; this process takes {now}.")
    torch.set_num_threads(min(threads, cores))
