"""What two processes do together, told as JSON: `both(FOLDER)` in each of them.

They add tensors, train the toy model, are stopped by one of them and go on, meet bad numbers in one process and a step
with a pack for one process alone. At last one of them dies in a run.
"""

from __future__ import annotations

import json
import math
import os
import signal
from pathlib import Path

import torch
from toy import ToyModel, ToySource, toy_saver

from spanwise.data.batch import Batch
from spanwise.errors import InterruptedAndSaved, NumericsError, PeerLostError
from spanwise.runtime.processes.distributed import Group, join_processes
from spanwise.runtime.progress import RunLog
from spanwise.training.evaluate import evaluate_batches
from spanwise.training.loop import train
from spanwise.training.plan import TrainingOptions


class SharedSource(ToySource):
    """The toy source dealt out to processes; `at_step(index, rank)` is called before each step is made."""

    def __init__(self, packs: int = 2, at_step=None) -> None:
        super().__init__(packs=packs)
        self.at_step = at_step

    def step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Batch]:
        if self.at_step is not None:
            self.at_step(index, rank)
        return [self.pack(index, k) for k in range(rank, self.packs, num_ranks)]


def run(folder: Path, group: Group | None, *, resume: bool = False, source=None, model=None, **values) -> dict:
    """Train the toy model in `folder`; returns what the result says."""
    model = model or ToyModel()
    cpu, held_out = torch.device("cpu"), [ToySource().pack(10**6, 0)]
    options = {"max_steps": 9, "eval_every": 4, "save_every": 3, "log_every": 1} | values
    result = train(
        model,
        source or SharedSource(),
        TrainingOptions(learning_rate=1e-2, precision="fp32", threads=1, **options),
        folder,
        save_model=toy_saver(model),
        evaluate=lambda: evaluate_batches(model, held_out, device=cpu),
        resume=resume,
        log=RunLog(folder),
        prefetch_depth=0,
        group=group,
    )
    return {"steps": result.steps, "tokens": result.tokens, "losses": result.losses, "evaluation": result.evaluation}


def together(folder: Path, group: Group) -> dict:
    rank = group.world.rank
    told: dict = {"gathered": group.gather({"rank": rank})}
    large, small = torch.full((600, 600), rank + 1.0), torch.full((3,), 10.0 * rank)
    turned = torch.arange(800_000.0).view(2, -1).t()  # not contiguous
    group.add([large, small, turned])
    told["added"] = [large.unique().tolist(), small.tolist(), turned[1].tolist()]

    told["whole"] = run(folder / "whole", group)

    def stop_one(index: int, rank: int) -> None:
        if index == 4 and rank == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    try:
        run(folder / "parts", group, source=SharedSource(at_step=stop_one))
    except InterruptedAndSaved:
        told["interrupted"] = True
    told["parts"] = run(folder / "parts", group, resume=True)

    class Poisoned(ToyModel):
        def forward(self, batch):
            found = super().forward(batch)
            if batch.ids == (301,):  # the second pack of step 4, which is computed by one process
                object.__setattr__(found["next"], "sum", found["next"].sum * math.inf)
            return found

    try:
        run(folder / "bad", group, model=Poisoned())
    except NumericsError as error:
        told["bad"] = str(error)
    told["three packs"] = run(folder / "three", group, source=SharedSource(packs=3))
    told["one pack"] = run(folder / "one", group, source=SharedSource(packs=1))
    told["budget"] = run(folder / "budget", group, max_steps=None, budget=1.5, eval_every=None, save_every=None)
    return told


def lose_one(folder: Path, group: Group) -> None:
    def die(index: int, rank: int) -> None:
        if index == 3 and rank == 1:
            os._exit(9)

    try:
        run(folder / "lost", group, source=SharedSource(at_step=die))
    except PeerLostError as error:
        (folder / "peer-lost.txt").write_text(str(error))
        os._exit(error.exit_status)


def both(folder: Path) -> int:
    """All of it in a group that the environment names; a status."""
    torch.set_num_threads(1)
    with join_processes() as group:
        assert group is not None
        with join_processes() as again:
            assert again is not None and again.world == group.world
        told = together(folder, group)
        (folder / f"told-{group.world.rank}.json").write_text(json.dumps(told))
        lose_one(folder, group)
    return 0
