"""A run with exact sums, shared by processes that are forked here and stop after some steps."""

from __future__ import annotations

import contextlib
import os
import signal
from functools import partial
from pathlib import Path

import torch
from processes import SharedSource, run
from tests.reliability.kills import ended, start_group

from spanwise.errors import InterruptedAndSaved
from spanwise.runtime.processes.distributed import join_processes


def shared_run(folder: Path, *, size: int, steps: int) -> None:
    """Begin the run in `folder`, or go on with it, as so many processes until so many steps are done."""
    done = ended(start_group(partial(_share, folder, steps, folder.exists()), folder, size))
    assert not any(done), (folder.parent / f"{folder.name}.err").read_text()


def _share(folder: Path, steps: int, resume: bool) -> int:
    torch.set_num_threads(1)

    def stop(index: int, rank: int) -> None:
        if index == steps and rank == 0:
            os.kill(os.getpid(), signal.SIGTERM)

    with join_processes() as group, contextlib.suppress(InterruptedAndSaved):
        run(folder, group, resume=resume, source=SharedSource(packs=5, at_step=stop), exact_sums=True)
    return 0
