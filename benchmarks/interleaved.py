"""What the benchmarks share: sides that take turns, each in a process of its own, and the rows they become.

A side is built once in its own process (`serve`) and does one turn for every line that it is sent, so a busy machine
slows all sides alike; `take_turns` sends the lines. A peer that is not installed is left out: its rows have no figure
of a peer, and say which package is missing. Rows have the same keys in every benchmark: `name`, `unit`, `ours`,
`peer`, `ratio` (medians of the rounds' ratios), `goal`, `spread` (their middle half).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

_BEGAN = time.perf_counter()
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")
NUM_WARM_ROUNDS = 2
SECONDS_TO_END = 2.0  # for a side that a stop meets in the middle of a turn


def peak_memory() -> int:
    """Peak resident set of this process, bytes (Linux counts kibibytes, macOS bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def rounds_within(rounds: int, seconds: float | None, warm: int = NUM_WARM_ROUNDS) -> Iterator[int]:
    """Number the rounds from `-warm` on, as many as fit into `seconds` since this script began: the last one is
    expected to take as long as the one before. A slow machine warms up less; one round from 0 on is always given."""
    index = -warm
    while index < rounds:
        began = time.perf_counter()
        yield index
        now = time.perf_counter()
        is_late = seconds is not None and now - _BEGAN + (now - began) > seconds
        if is_late and index >= 0:
            return
        index = 0 if is_late else index + 1


def has_bf16() -> bool:
    """Whether this processor multiplies bf16 itself; elsewhere a side in bf16 imitates it many times slower."""
    import torch

    from spanwise.runtime import device

    return device.has_bf16(torch.device("cpu"))


def serve(make: Callable[[], Any], clock: Callable[[], float]) -> None:
    """A side's own process. `make()` gives an object with `prepare(index)`, which is not timed, and
    `step(index, prepared) -> amount`, which is; it may say `start_memory`, `facts()` after each turn, and have a
    `close()`."""
    try:
        side = make()
    except ModuleNotFoundError as error:
        print(json.dumps({"absent": str(error.name).partition(".")[0]}), flush=True)
        return
    print(json.dumps({"start_memory": getattr(side, "start_memory", 0)}), flush=True)
    for index, _ in enumerate(sys.stdin):
        prepared = side.prepare(index)
        begin = clock()
        amount = side.step(index, prepared)
        seconds = clock() - begin
        facts = side.facts() if hasattr(side, "facts") else {}
        answer = {"seconds": seconds, "amount": amount, "memory": peak_memory(), "facts": facts}
        print(json.dumps(answer), flush=True)
    if hasattr(side, "close"):
        side.close()


def take_turns(
    command: Callable[[str], Sequence[str]],
    sides: Sequence[str],
    *,
    rounds: int,
    threads: int | Mapping[str, int],
    slow: Mapping[str, int] | None = None,
    seconds: float | None = None,
) -> dict[str, dict[str, Any]]:
    """One turn of each side after the other; the first two rounds warm up. Returns what each side told: `rates`
    [rounds] (amount a second), `amounts`, `memory` and `start_memory` in bytes, `facts`, or `absent`.

    `slow` names sides that take that many turns only, without warming up. `seconds` as in `rounds_within`.
    """
    slow = slow or {}
    processes, told = {}, {}
    try:
        for side in sides:
            number = threads if isinstance(threads, int) else threads[side]
            processes[side] = subprocess.Popen(
                [sys.executable, *command(side)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | dict.fromkeys(THREAD_VARIABLES, str(number)) | {"HF_HUB_OFFLINE": "1"},
            )
        for side, process in processes.items():
            told[side] = {"rates": [], "amounts": [], "facts": {}} | _answer(side, process)
        present = [side for side in sides if "absent" not in told[side]]
        for index in rounds_within(rounds, seconds):
            for side in present:
                if side in slow and not 0 <= index < slow[side]:
                    continue
                processes[side].stdin.write("\n")
                processes[side].stdin.flush()
                answer = _answer(side, processes[side])
                told[side] |= {"memory": answer["memory"], "facts": answer["facts"]}
                if index >= 0:
                    told[side]["rates"].append(answer["amount"] / answer["seconds"])
                    told[side]["amounts"].append(answer["amount"])
    except BaseException:
        _stop(processes.values())
        raise
    for process in processes.values():
        process.stdin.close()
        process.wait()
    return told


def _stop(processes: Iterable[subprocess.Popen]) -> None:
    """End sides that nobody waits for: those that do not end by themselves soon are killed."""
    for process in processes:
        with contextlib.suppress(OSError):  # of one that has ended
            process.stdin.close()
    until = time.monotonic() + SECONDS_TO_END
    for process in processes:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answer(side: str, process: subprocess.Popen) -> dict[str, Any]:
    line = process.stdout.readline()
    if not line:
        status = process.wait()
        if status == -signal.SIGKILL:
            raise SystemExit(f"the side {side!r} was killed, as the system does where memory runs out.")
        raise SystemExit(f"the side {side!r} has stopped; what it said stands above.")
    return json.loads(line)


def rate_row(
    name: str, unit: str, ours: Mapping[str, Any], peer: Mapping[str, Any], goal: float | None = None
) -> dict[str, Any]:
    """A row that compares what two sides told of their speed: higher is better."""
    row = {"name": name, "unit": unit, "ours": float(np.median(ours["rates"])), "goal": goal}
    if "absent" in peer:
        return row | {"peer": None, "ratio": None, "spread": None, "absent": peer["absent"]}
    rounds = min(len(ours["rates"]), len(peer["rates"]))
    ratios = np.array(ours["rates"][:rounds]) / np.array(peer["rates"][:rounds])
    spread = np.percentile(ratios, [25, 75]).tolist()
    return row | {"peer": float(np.median(peer["rates"])), "ratio": float(np.median(ratios)), "spread": spread}


def share_row(name: str, ours: Mapping[str, Any], goal: float | None = None) -> dict[str, Any]:
    """A row of a side's operations per second beside what a matrix product of the processor reaches ("flops_per_token"
    and "peak" of its facts): higher is better."""
    peak = ours["facts"]["peak"] / 1e9
    speeds = np.array(ours["rates"]) * ours["facts"]["flops_per_token"] / 1e9
    row = {"name": name, "unit": "GFLOP/s", "ours": float(np.median(speeds)), "peer": peak, "goal": goal}
    return row | {"ratio": row["ours"] / peak, "spread": (np.percentile(speeds, [25, 75]) / peak).tolist()}


def memory_row(
    name: str, ours: Mapping[str, Any], peer: Mapping[str, Any], goal: float | None = None, *, whole: bool = True
) -> dict[str, Any]:
    """A row that compares peak memory, of whole processes or without what stood before the model: lower is better."""
    mine, theirs = (
        None if "absent" in side else (side["memory"] - (0 if whole else side["start_memory"])) / 2**20
        for side in (ours, peer)
    )
    ratio = None if theirs is None else mine / theirs
    row = {"name": name, "unit": "MiB", "ours": mine, "peer": theirs, "ratio": ratio, "goal": goal, "spread": None}
    return row | {"lower_is_better": True} | ({"absent": peer["absent"]} if "absent" in peer else {})


def timing_options(description: str, *, rounds: int, threads: int = 2) -> argparse.ArgumentParser:
    """The options that these benchmarks have in common."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--threads", type=int, default=threads)
    parser.add_argument("--seconds", type=float, help="no more rounds than fit into so many seconds, and one at least")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", help=argparse.SUPPRESS)  # the side that this process is
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    return parser


def show_rows(rows: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    """Print rows, for a program or for a person."""
    if as_json:
        print(json.dumps(list(rows), indent=2))
        return
    for row in rows:
        print(line_of(row), flush=True)


def line_of(row: Mapping[str, Any]) -> str:
    """A row in one line."""
    if row.get("ratio") is None:
        said = f"no peer: {row['absent']} is not installed" if row.get("absent") else "no peer"
        return f"{row['name']}: {_figure(row['ours'])} {row['unit']} ({said})"
    words = (
        f"{row['name']}: {_figure(row['ours'])} against {_figure(row['peer'])} {row['unit']}, ratio {row['ratio']:.2f}"
    )
    if row.get("spread"):
        words += f" ({row['spread'][0]:.2f} to {row['spread'][1]:.2f})"
    if row.get("goal"):
        words += f", goal {'at most ' if row.get('lower_is_better') else ''}{row['goal']:g}"
    return words


def _figure(value: float | None) -> str:
    if value is None:
        return "nothing"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
