"""SIGKILL at random moments and at operations of a save, then a resume, until the run is finished.

A fork server: this process imports everything and computes nothing. An attempt is a forked child in which the command
line of `spanwise pretrain` (or of several processes of it, who meet through Gloo), or the toy model's run, does all of
its work.
"""

import os
import random
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch._dynamo  # noqa: F401  the optimizer's first step imports it: once here, not in every attempt
from tests.reliability.disk import WatchedDisk, disk_of
from tests.reliability.figure import Figure
from tests.reliability.order import small_store
from tests.reliability.toy_run import result_of, train_toy

from spanwise.cli.main import main

STEPS, TOY_STEPS = 8, 20
LONGEST_SECONDS = 600  # of one of a group
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


def start(work: Callable[[], int], folder: Path, *, die_at: int | None = None) -> int:
    """Fork a child that does the work on `folder` and ends with the status it returns. Returns its process id."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 99
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(os.open(folder.parent / f"{folder.name}.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
        if die_at is None:
            status = work()
        else:
            disk = DyingDisk()
            disk.left = die_at
            with disk_of(disk):
                status = work()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def start_group(work: Callable[[], int], folder: Path, size: int) -> list[int]:
    """Fork `size` children that know of each other as those of `--processes` do. Returns their process ids."""
    if size == 1:
        return [start(work, folder)]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def as_one(rank: int) -> int:
        names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_PORT": port}
        os.environ.update({name: str(value) for name, value in names.items()}, MASTER_ADDR="127.0.0.1")
        signal.alarm(LONGEST_SECONDS)  # one that waits for a peer that never came
        return work()

    return [start(partial(as_one, rank), folder) for rank in range(size)]


def command(store: Path, folder: Path, *, tokens: int = 256, more: Sequence[str] = ()) -> int:
    """`spanwise pretrain` of a small model with `more` changes of its recipe, alone or as one of a group. Returns its
    exit status."""
    words = ["pretrain", "spanbert-tiny", "--data", str(store), "--valid", str(store), "--out", str(folder)]
    for change in (*RECIPE, f"batch.tokens_per_step={tokens}", *more):
        words += ["--set", change]
    return main(words + (["--resume"] if folder.exists() or "RANK" in os.environ else []))


def toy(depth: random.Random, folder: Path) -> int:
    """The toy model's run, packs made before they are needed or not: all that differs from attempt to attempt."""
    train_toy(folder, resume=folder.exists(), steps=TOY_STEPS, prefetch_depth=depth.choice((0, 1, 8)))
    return 0


def ended(pids: list[int]) -> list[int]:
    """Wait for all; the status of each, below 0 for a signal."""
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def killed_commands(scratch: Path, seed: int, *, kills: int) -> Figure:
    """Kill `spanwise pretrain` until there were so many kills."""
    return _killed(partial(command, small_store(scratch / "text").path), scratch, seed, kills=kills, steps=STEPS)


def killed_toys(scratch: Path, seed: int, *, kills: int) -> Figure:
    """Kill the toy model's run: less of the program, but an attempt takes a moment, so more places are met."""
    return _killed(partial(toy, random.Random(seed)), scratch, seed, kills=kills, steps=TOY_STEPS)


def _killed(run: Callable[[Path], int], scratch: Path, seed: int, *, kills: int, steps: int) -> Figure:
    """Kill runs of a folder and start them again; half of the attempts die inside a save."""
    figure = Figure("killed at random, a fifth inside a save: same weights, moments, logs")
    chance, began = random.Random(seed), time.perf_counter()
    whole = ended([start(partial(run, scratch / "whole"), scratch / "whole")])
    seconds = time.perf_counter() - began
    assert whole == [0], (scratch / "whole.err").read_text()
    wanted, done, in_saves, rounds = result_of(scratch / "whole", steps), 0, 0, 0
    while done < kills:
        folder, rounds = scratch / f"round-{rounds}", rounds + 1
        while True:
            is_armed = chance.random() < 0.5
            die_at = chance.randrange(1, OPERATIONS) if is_armed else None
            pid = start(partial(run, folder), folder, die_at=die_at)
            if not is_armed:
                time.sleep(chance.uniform(0.05, 0.9) * seconds)
                os.kill(pid, signal.SIGKILL)
            status = ended([pid])[0]
            done += status == -signal.SIGKILL
            in_saves += is_armed and status == -signal.SIGKILL
            if status != -signal.SIGKILL or done >= 10 * kills:
                break
        found = result_of(folder, steps) if status == 0 else ("", "", "")
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
    assert ended([start(partial(command, store, whole, tokens=tokens), whole)]) == [0]
    while done < kills:
        folder, number, statuses = scratch / f"group-{number}", number + 1, [-signal.SIGKILL]
        is_killed = True
        while is_killed or any(statuses):
            sharding = f"training.sharding={chance.choice(('none', 'fsdp2'))}"
            work = partial(command, store, folder, tokens=tokens, more=[sharding])
            pids = start_group(work, folder, chance.randint(1, largest))
            is_killed = chance.random() < 0.6 and done < kills + 3
            if is_killed:
                _at_a_step(folder, chance.randrange(2, STEPS))
                for pid in pids:
                    os.kill(pid, signal.SIGKILL)
            statuses = ended(pids)
            done += -signal.SIGKILL in statuses
            if not is_killed and any(statuses):
                break
        same = not any(statuses) and result_of(folder, STEPS) == result_of(whole, STEPS)
        figure.check(same, f"{folder.name}: {statuses} {(scratch / f'{folder.name}.err').read_text()[-900:]}")
    figure.facts = {"kills": done}
    return figure


def _at_a_step(folder: Path, step: int) -> None:
    """Wait until a run has logged a step, or for a minute."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if (folder / "metrics.jsonl").exists() and f'"step": {step},' in (folder / "metrics.jsonl").read_text():
            return
        time.sleep(0.02)
