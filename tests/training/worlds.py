"""A run with exact sums that is stopped after some steps: `launch([python, worlds.py, FOLDER, STEPS], N, 1)`."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
from processes import SharedSource, run

from spanwise.errors import InterruptedAndSaved
from spanwise.runtime.processes.distributed import join_processes


def main() -> None:
    folder, steps = Path(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    resume = folder.exists()  # before the first process makes it

    def stop(index: int, rank: int) -> None:
        if index == steps and rank == 0:
            os.kill(os.getpid(), signal.SIGTERM)

    with join_processes() as group, contextlib.suppress(InterruptedAndSaved):
        run(folder, group, resume=resume, source=SharedSource(packs=5, at_step=stop), exact_sums=True)


if __name__ == "__main__":
    main()
