"""SIGKILL of the real command at random moments and at operations of a save, then `--resume`, until it is finished.

A fork server: this process imports everything and computes nothing. An attempt is a forked child in which the command
line of `spanwise pretrain` (or of several processes of it, who meet through Gloo) does all of its work.
"""

import hashlib
import json
import os
import random
import signal
import socket
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import torch._dynamo  # noqa: F401  the optimizer's first step imports it: once here, not in every attempt
from tests.reliability.disk import WatchedDisk, disk_of
from tests.reliability.figure import Figure
from tests.reliability.order import small_store

from spanwise.cli.main import main
from spanwise.runtime.progress import read_metrics
from spanwise.training.loop import TIMING_FIELDS
from spanwise.training.parts import SavedTensors

STEPS = 8
OPERATIONS = 60  # of disk, within which an armed attempt dies; a save has some 30
RECIPE = [
    "encoder.num_layers=2", "encoder.hidden_size=32", "encoder.num_heads=2", "encoder.intermediate_size=64",
    "encoder.max_positions=64", "format.max_length=64", "batch.max_tokens=128", "tokenizer.vocab_size=300",
    "training.eval_every=4", "training.max_tokens=null", f"training.max_steps={STEPS}", "training.log_every=1",
    "training.save_every=2", "training.threads=1", "training.precision=fp32", "training.exact_sums=true",
]  # fmt: skip


class DyingDisk(WatchedDisk):
    """Kills its process at one of its operations."""

    left: int

    def before(self, operation: str, path: Path) -> int | None:
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return None


World = tuple[int, int, int]  # rank, size and port


def start(
    store: Path, folder: Path, *, tokens: int, die_at: int | None, world: World | None, more: Sequence[str] = ()
) -> int:
    """Fork a child that runs the command, with `more` changes of its recipe. Returns its process id."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 99
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(os.open(folder.parent / f"{folder.name}.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
        if world is not None:
            rank, size, port = map(str, world)
            os.environ.update(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=size, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        words = ["pretrain", "spanbert-tiny", "--data", str(store), "--valid", str(store), "--out", str(folder)]
        for change in (*RECIPE, f"batch.tokens_per_step={tokens}", *more):
            words += ["--set", change]
        words += ["--resume"] if folder.exists() or world is not None else []  # the same command in every process
        if die_at is None:
            status = main(words)
        else:
            disk = DyingDisk()
            disk.left = die_at
            with disk_of(disk):
                status = main(words)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def result_of(folder: Path) -> tuple[str, str, str]:
    """Hashes of the final weights, of all tensors of training, and of the log without its clock times."""
    saved = SavedTensors(folder / "checkpoints" / f"step-{STEPS:09d}" / "training")
    tensors = b"".join(name.encode() + saved.rows(name).numpy().tobytes() for name in sorted(saved.names))
    lines = [
        {name: value for name, value in record.items() if name not in TIMING_FIELDS and name != "flop_utilisation"}
        for record in read_metrics(folder / "metrics.jsonl")
    ]
    found = (folder / "final" / "model.safetensors").read_bytes(), tensors, json.dumps(lines).encode()
    return tuple(hashlib.sha256(content).hexdigest() for content in found)  # type: ignore[return-value]


def ended(pids: list[int]) -> list[int]:
    """Wait for all; the status of each, below 0 for a signal."""
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def killed_commands(scratch: Path, seed: int, *, kills: int) -> Figure:
    """Kill runs until there were so many kills; half of the attempts die inside a save."""
    figure = Figure("killed at random, a fifth inside a save: same weights, moments, logs")
    chance, store = random.Random(seed), small_store(scratch / "text").path
    began = time.perf_counter()
    whole = ended([start(store, scratch / "whole", tokens=256, die_at=None, world=None)])
    seconds = time.perf_counter() - began
    assert whole == [0], (scratch / "whole.err").read_text()
    wanted, done, in_saves, rounds = result_of(scratch / "whole"), 0, 0, 0
    while done < kills:
        folder, rounds = scratch / f"round-{rounds}", rounds + 1
        while True:
            is_armed = chance.random() < 0.5
            die_at = chance.randrange(1, OPERATIONS) if is_armed else None
            pid = start(store, folder, tokens=256, die_at=die_at, world=None)
            if not is_armed:
                time.sleep(chance.uniform(0.05, 0.9) * seconds)
                os.kill(pid, signal.SIGKILL)
            status = ended([pid])[0]
            done += status == -signal.SIGKILL
            in_saves += is_armed and status == -signal.SIGKILL
            if status != -signal.SIGKILL or done >= 10 * kills:
                break
        found = result_of(folder) if status == 0 else ("", "", "")
        parts = [name for name, a, b in zip(("weights", "moments", "log"), found, wanted, strict=True) if a != b]
        said = (scratch / f"{folder.name}.err").read_text()[-900:]
        figure.check(not parts, f"{folder.name} ended with {status}, other {parts}: {said}")
    figure.facts = {"kills": done, "inside_saves": in_saves}
    figure.check(in_saves >= done / 5, f"only {in_saves} of {done} kills met a save")
    return figure


def killed_groups(scratch: Path, seed: int, *, kills: int, largest: int = 5) -> Figure:
    """Groups of 1 to `largest` processes, killed and started again with another number, each with the whole model or
    with a share of it: one hash by exact sums."""
    figure = Figure(f"groups killed and restarted on 1 to {largest} processes, sharded or not: one hash")
    chance, store, done, number = random.Random(seed), small_store(scratch / "text").path, 0, 0
    tokens, whole = 128 * largest, scratch / "whole"
    assert ended([start(store, whole, tokens=tokens, die_at=None, world=None)]) == [0]
    while done < kills:
        folder, number, statuses = scratch / f"group-{number}", number + 1, [-signal.SIGKILL]
        is_killed = True
        while is_killed or any(statuses):
            sharding = chance.choice(("none", "fsdp2"))
            pids = group(store, folder, tokens, chance.randint(1, largest), [f"training.sharding={sharding}"])
            is_killed = chance.random() < 0.6 and done < kills + 3
            if is_killed:
                _at_a_step(folder, chance.randrange(2, STEPS))
                for pid in pids:
                    os.kill(pid, signal.SIGKILL)
            statuses = ended(pids)
            done += is_killed
            if not is_killed and any(statuses):
                break
        same = not any(statuses) and result_of(folder) == result_of(whole)
        figure.check(same, f"{folder.name}: {statuses} {(scratch / f'{folder.name}.err').read_text()[-900:]}")
    figure.facts = {"kills": done}
    return figure


def group(store: Path, folder: Path, tokens: int, size: int, more: Sequence[str] = ()) -> list[int]:
    """Start a run as so many processes; returns their process ids."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    worlds = [None] if size == 1 else [(rank, size, port) for rank in range(size)]
    return [start(store, folder, tokens=tokens, die_at=None, world=world, more=more) for world in worlds]


def _at_a_step(folder: Path, step: int) -> None:
    """Wait until a run has logged a step, or for a minute."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if (folder / "metrics.jsonl").exists() and f'"step": {step},' in (folder / "metrics.jsonl").read_text():
            return
        time.sleep(0.02)
