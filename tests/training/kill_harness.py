"""Kill training again and again, at random moments and inside saves, and go on each time.

A fork server: this process imports everything and computes nothing; an attempt is a forked child that trains the toy
model from where the run stands. Prints one JSON line {rounds: [{kills, kills_in_saves, equal...}]}.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch._dynamo  # the optimizer's first step imports it: once here, not in every attempt

sys.path.insert(0, str(Path(__file__).parent))
from toy import ToyModel, ToySource, toy_saver

from spanwise.errors import SpanwiseError
from spanwise.runtime import files
from spanwise.runtime.progress import RunLog, read_metrics
from spanwise.training.evaluate import evaluate_batches
from spanwise.training.loop import TIMING_FIELDS, train
from spanwise.training.plan import TrainingOptions

STEPS = 40


def child(folder: Path, *, resume: bool, die_at_operation: int | None, depth: int, toggles: bool) -> None:
    """Train to the end; with `die_at_operation` leave without a word at that disk operation."""
    if die_at_operation is not None:
        left = [die_at_operation]
        disk = type(files.DISK)
        for name in ("fsync_file", "fsync_folder", "rename", "write_file", "remove_file", "remove_tree", "make_folder"):
            real = getattr(disk, name)

            def counted(self, *arguments, real=real):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(self, *arguments)

            setattr(disk, name, counted)
    model, source = ToyModel(), ToySource()
    held_out = [source.pack(10**6, 0)]
    options = TrainingOptions(
        learning_rate=1e-2,
        max_steps=STEPS,
        log_every=1 if toggles else 7,
        save_every=2 if toggles else None,
        eval_every=5 if toggles else None,
        precision="fp32",
        threads=1,
    )
    cpu = torch.device("cpu")
    evaluate = (lambda: evaluate_batches(model, held_out, device=cpu)) if toggles else None
    train(
        model,
        source,
        options,
        folder,
        save_model=toy_saver(model),
        evaluate=evaluate,
        resume=resume,
        log=RunLog(folder),
        prefetch_depth=depth,
    )


def attempt(folder: Path, *, kill_after: float | None, die_at_operation: int | None, **how) -> bool:
    """One start of the run; True where it reached the end."""
    pid = os.fork()
    if pid == 0:
        try:
            child(folder, die_at_operation=die_at_operation, **how)
            os._exit(0)
        except SpanwiseError as error:
            print(error, file=sys.stderr, flush=True)
            os._exit(1)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(2)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise SystemExit(f"an attempt ended with {code} in {folder}")
    return code == 0


def result_of(folder: Path) -> tuple[str, str]:
    """Hashes of all final tensors, and of all log lines without their clock times."""
    last = folder / "checkpoints" / f"step-{STEPS:09d}" / "training" / "optimizer.safetensors"
    lines = [
        {name: value for name, value in record.items() if name not in TIMING_FIELDS}
        for record in read_metrics(folder / "metrics.jsonl")
    ]
    return hashlib.sha256(last.read_bytes()).hexdigest(), hashlib.sha256(json.dumps(lines).encode()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    began = time.perf_counter()
    memory = (
        "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    )  # a kill loses no page: the disk's speed proves nothing
    with tempfile.TemporaryDirectory(dir=memory) as scratch:
        base = Path(scratch)
        how = {"resume": False, "depth": 2, "toggles": True}
        start = time.perf_counter()
        assert attempt(base / "whole", kill_after=None, die_at_operation=None, **how)
        whole_seconds = time.perf_counter() - start
        wanted = result_of(base / "whole")
        assert attempt(base / "quiet", kill_after=None, die_at_operation=None, resume=False, depth=0, toggles=False)
        rounds, kills, in_saves = [], 0, 0
        while kills < arguments.kills:
            folder, done = base / f"round-{len(rounds)}", False
            while not done:
                armed = rng.random() < 0.5
                done = attempt(
                    folder,
                    kill_after=None if armed else rng.uniform(0.01, 0.8 * whole_seconds),
                    die_at_operation=rng.randrange(1, 160) if armed else None,
                    resume=folder.exists(),
                    depth=rng.choice([0, 1, 8]),
                    toggles=True,
                )
                kills += not done
                in_saves += (not done) and armed
            rounds.append({"tensors": result_of(folder)[0] == wanted[0], "log": result_of(folder)[1] == wanted[1]})
        print(
            json.dumps(
                {
                    "kills": kills,
                    "kills_in_saves": in_saves,
                    "rounds": rounds,
                    "toggles_change_nothing": result_of(base / "quiet")[0] == wanted[0],
                    "seed": arguments.seed,
                    "seconds": round(time.perf_counter() - began, 1),
                }
            )
        )


if __name__ == "__main__":
    main()
