"""Runs that processes share with FSDP2, told as JSON: `runs(FOLDER, NAMES)` in each of them."""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import torch
from processes import SharedSource, run
from torch import nn
from torch.nn import functional as F
from toy import ToyLoss, ToyModel

from spanwise.errors import InterruptedAndSaved, NumericsError
from spanwise.runtime.processes.distributed import join_processes
from spanwise.training import loop


class Layered(ToyModel):
    """The toy model with layers in a list, a head that holds the table without registering it, and a second table whose
    rows are as few as a process may get none of them."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(2))
        self.places = nn.Embedding(5, 32)
        with torch.no_grad():
            for part in (*self.layers, self.places):
                part.weight.copy_(torch.randn(part.weight.shape, generator=generator) * 0.1)
            for layer in self.layers:
                layer.bias.zero_()
        self._tied = (self.table.weight,)

    def forward(self, batch):
        hidden = self.table(batch.input_ids) + self.places(torch.arange(len(batch.input_ids)) % 5)
        for layer in self.layers:
            hidden = hidden + F.gelu(layer(hidden))
        hidden = self.norm(hidden + self.dropout(F.gelu(self.mix(hidden)))) * self.scale
        found = {}
        for name, targets in batch.targets.items():
            logits = F.linear(hidden[targets.positions], self._tied[0], self.decoder.bias)
            loss = F.cross_entropy(logits, targets.ids, reduction="sum")
            found[name] = ToyLoss(sum=loss, num_correct=(logits.argmax(-1) == targets.ids).sum())
        return found


class Poisoned(Layered):
    """The second pack of step 4, which the second of two processes computes, has no finite loss."""

    def forward(self, batch):
        found = super().forward(batch)
        if batch.ids == (301,):
            object.__setattr__(found["next"], "sum", found["next"].sum * math.inf)
        return found


EXACT = {"exact_sums": True, "packs": 3}
RUNS = {
    "adamw": EXACT,
    "muon": {**EXACT, "optimizer": "muon"},
    "lamb": {**EXACT, "optimizer": "lamb"},
    "one pack": {"exact_sums": True, "packs": 1},
    "added": {"optimizer": "muon", "packs": 3},
    "stopped": {**EXACT, "stop": 4},
}


def one(name: str, folder: Path, group=None, *, resume: bool = False, **changes) -> dict:
    """One of the runs, alone or in a group; returns what it came to."""
    values = {**RUNS[name], **changes}
    packs, stop = values.pop("packs"), values.pop("stop", None)

    def at_step(index: int, rank: int) -> None:
        if index == stop and rank == 0:
            os.kill(os.getpid(), signal.SIGTERM)

    told: dict = {}
    with contextlib.suppress(InterruptedAndSaved):
        source = SharedSource(packs=packs, at_step=at_step)
        told = run(folder / name, group, model=Layered(), source=source, resume=resume, **values)
    return told


def runs(folder: Path, names: Sequence[str]) -> int:
    """All runs of those names in a group that the environment names; a status of 0 where none failed."""
    torch.set_num_threads(1)
    gc.freeze()  # `_alive` leaves out the parameters of earlier tests, which a forked process inherits
    told: dict = {}
    kept: list[list[int]] = []
    loop._Loop.result = _seen(loop._Loop.result, kept)
    with join_processes() as group:
        for name in names:
            if name == "bad":
                with contextlib.suppress(NumericsError):
                    try:
                        run(folder / name, group, model=Poisoned(), sharding="fsdp2")
                    except NumericsError as error:
                        told[name] = str(error)
                        raise
                continue
            told[name] = one(name, folder, group, sharding="fsdp2")
        told["bytes"] = kept
        (folder / f"told-{group.world.rank if group else 0}.json").write_text(json.dumps(told))
    return 0


def _alive() -> int:
    """Bytes of all parameters that anything in this process still holds."""
    gc.collect()
    storages = [one.untyped_storage() for one in gc.get_objects() if type(one) is nn.Parameter]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def _seen(result, kept: list[list[int]]):
    """Note at the end of each run the bytes of parameters and moments that this process keeps, and those alive."""

    def noting(self, resumed_from):
        tensors = [piece.tensor for piece in self.kept.pieces]
        moments = [value for tensor in tensors for value in self.optimizer.state.get(tensor, {}).values()]
        kept.append([sum(value.numel() * value.element_size() for value in (*tensors, *moments)), _alive()])
        return result(self, resumed_from)

    return noting
