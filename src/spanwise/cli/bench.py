"""`spanwise bench`: how fast this machine is with us, and with the peers that are installed here."""

import contextlib
import json as json_format
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from spanwise.cli.console import print_json, print_table, say
from spanwise.cli.options.ranges import Minutes
from spanwise.errors import ConfigError
from spanwise.runtime.machine import usable_memory

MINUTES = 15.0
SECONDS_TO_STOP = 10.0
SECONDS_OF_GRACE = 60.0  # for a last round, before a benchmark is stopped without rows


@dataclass(frozen=True)
class Benchmark:
    """A script of the folder `benchmarks` with the arguments of a short run.

    Of the minutes that are left when its turn comes, it may take as many as its `share` of the shares behind it: then
    it makes no further round. A script with `sequences` takes batches of fewer where they would take too long or too
    much memory: each is `work` floating-point operations and `memory` bytes of the peer, padded and in float32.
    """

    script: str
    arguments: tuple[str, ...]
    what: str
    share: float = 1.0
    sequences: int = 0
    work: float = 0.0
    memory: float = 0.0


_ONE_PEER = ("--without", "ours, one process a core", "--without", "peer bf16, grouped by length")  # it takes 9 GiB
_ROUNDS = 8  # of the peer that its share of the time should hold: two warm up, and our sides take theirs
_FEWEST = 4  # sequences of a batch
_SPARE = 0.6  # of the memory: several sides stand in it at a time
# What people ask for first comes first; a machine may be slower than any that was measured.
SUITE = {
    "step": Benchmark(
        "training_step.py", ("--rounds", "5"), "a training step, 4 layers x 256", 2.5, 32, 34e9, 0.2 * 2**30
    ),
    "qa": Benchmark("qa_prediction.py", ("--rounds", "3"), "question answering prediction, 12 layers x 768", 2.0),
    "prepare": Benchmark("prepare.py", ("--rounds", "3"), "text to a token store"),
    "startup": Benchmark("startup.py", ("--rounds", "3"), "the command's help, and the first training step", 1.5),
    "masking": Benchmark("masking.py", ("--rounds", "10"), "spans, replaced ids and targets, a second of one core"),
    "collator": Benchmark("collator.py", ("--rounds", "10"), "our collator in other people's loops"),
    "sbo-head": Benchmark("sbo_head.py", ("--rounds", "3"), "the span boundary head alone"),
    "coreference": Benchmark(
        "coreference.py", ("--sizes", "4x256", "--documents", "4", "--rounds", "3"), "prediction of many documents", 1.5
    ),
    "step-4x512": Benchmark(
        "training_step.py", ("--size", "4x512", "--rounds", "3"), "4 layers x 512", 2.0, 32, 87e9, 0.25 * 2**30
    ),
    "step-12x768": Benchmark(
        "training_step.py",
        ("--size", "12x768", "--rounds", "3", *_ONE_PEER),
        "12 layers x 768",
        2.0,
        16,
        333e9,
        0.45 * 2**30,
    ),
}


def bench(*, only: list[str] | None = None, minutes: Minutes = MINUTES, json: bool = False) -> int:
    """Measure this machine: each row beside a named peer in the same run, where the peer is installed.

    The peers are transformers (masking, collator, steps, coreference, qa) and datasets (prepare): pip install them to
    compare. Nothing else should run meanwhile. What the rows mean stands in benchmarks/README.md.

    Parameters
    ----------
    only
        Run this benchmark alone; may be repeated: step, qa, prepare, startup, masking, collator, sbo-head, coreference,
        step-4x512, step-12x768.
    minutes
        The most that all of it may take. Each benchmark has its share of it, and makes fewer rounds, or takes smaller
        batches, where this machine is slow or small; what did not fit all the same is named.
    json
        Print the rows as JSON: name, ours, peer, ratio, goal, spread.
    """
    wanted = _chosen(only)
    folder = find_benchmarks()
    until = time.monotonic() + 60 * minutes
    rows: list[dict] = []
    failed, late = [], []
    speed = None
    for place, name in enumerate(wanted):
        left, benchmark = until - time.monotonic(), SUITE[name]
        if left <= 0:
            late.append(name)
            continue
        share = left * benchmark.share / sum(SUITE[other].share for other in wanted[place:])
        if benchmark.sequences:
            speed = speed or _speed()
            benchmark = fitted(benchmark, share, speed, usable_memory())
        print(f"{name}: {benchmark.what} ...", file=sys.stderr, flush=True)
        try:
            rows += run_benchmark(folder, benchmark, share, min(left, 2 * share + SECONDS_OF_GRACE))
        except subprocess.TimeoutExpired:
            late.append(name)
        except subprocess.CalledProcessError as error:
            failed.append(name)
            print(error.stderr[-2000:], file=sys.stderr, flush=True)
    if json:
        print_json(rows)
    else:
        _show(rows)
    for what, names in (("failed", failed), (f"did not fit into {minutes:g} minutes", late)):
        if names:
            print(f"spanwise bench: {', '.join(names)} {what}.", file=sys.stderr)
    return 1 if failed else 0


def find_benchmarks() -> Path:
    """Return the folder of the scripts: beside the sources in a checkout, inside the package where it is installed.

    Raises: ConfigError where there is none.
    """
    package = Path(__file__).parents[1]
    for folder in (package / "benchmarks", package.parents[1] / "benchmarks"):
        if (folder / "interleaved.py").is_file():
            return folder
    raise ConfigError(f"the benchmark scripts are not in {package / 'benchmarks'}; install spanwise again.")


def fitted(benchmark: Benchmark, seconds: float, speed: float, memory: float | None) -> Benchmark:
    """Return a benchmark with as many sequences a batch as fit this machine, the usual number at most; with fewer it
    has one peer alone.

    speed: floating-point operations a second of a matrix product; memory: bytes, None where the system does not say.
    """
    most = seconds / _ROUNDS * speed / benchmark.work
    if memory is not None:
        most = min(most, _SPARE * memory / benchmark.memory)
    number = benchmark.sequences
    while number > most and number > _FEWEST:
        number //= 2
    if number == benchmark.sequences:
        return benchmark
    arguments = (*benchmark.arguments, *_ONE_PEER, "--sequences", str(number))
    return replace(benchmark, arguments=arguments, what=f"{benchmark.what}, batches of {number} sequences")


def _speed() -> float:
    """Floating-point operations a second of a float32 matrix product on this machine."""
    import torch

    from spanwise.training.timing import matmul_peak

    return matmul_peak("cpu", "fp32", torch.get_num_threads())


def run_benchmark(folder: Path, benchmark: Benchmark, seconds: float, most: float) -> list[dict]:
    """Return the rows of one script, run in a process of its own: after `seconds` it makes no further round, and after
    `most` it is stopped.

    Raises: subprocess.TimeoutExpired, subprocess.CalledProcessError.
    """
    limit = ("--seconds", f"{seconds:.3f}", "--json")
    command = [sys.executable, str(folder / benchmark.script), *benchmark.arguments, *limit]
    with subprocess.Popen(  # in a session of its own: Ctrl-C reaches its sides by it alone, or they might never end
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=most)
        except BaseException:
            process.send_signal(signal.SIGINT)  # it closes its sides and removes its folders
            try:
                process.wait(SECONDS_TO_STOP)  # not for its pipes: what it started may hold them
            except subprocess.TimeoutExpired:
                process.kill()
            _kill_group(process)
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, output=out, stderr=err)
    return json_format.loads(out)


def _kill_group(process: subprocess.Popen[str]) -> None:
    """End what a process that led its own session left behind; its group lives as long as one of them."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def is_met(row: dict) -> bool | None:
    """Return whether a row reaches its goal; None where it has none, or no peer to be compared with."""
    lower = row.get("lower_is_better", False)
    value = row["ratio"] if row["ratio"] is not None else row["ours"] if lower and not row.get("absent") else None
    if row["goal"] is None or value is None:
        return None
    return value <= row["goal"] if lower else value >= row["goal"]


def _chosen(only: list[str] | None) -> list[str]:
    from spanwise.runtime.suggest import did_you_mean

    for name in only or []:
        if name not in SUITE:
            raise ConfigError(
                f"there is no benchmark {name!r}; there are {', '.join(SUITE)}.{did_you_mean(name, SUITE)}"
            )
    return [name for name in SUITE if only is None or name in only]


def _show(rows: list[dict]) -> None:
    words = {True: "met", False: "missed", None: "-"}
    table = []
    for row in rows:
        spread = row.get("spread")
        between = f"{spread[0]:.3g} to {spread[1]:.3g}" if spread else "-"
        peer = f"{row['absent']} is not installed" if row.get("absent") else _figure(row["peer"])
        ratio = None if row["ratio"] is None else f"{row['ratio']:.3g}"
        bound = "at most " if row.get("lower_is_better") else ""
        goal = None if row["goal"] is None else f"{bound}{row['goal']:g}"
        table.append([row["name"], _figure(row["ours"]), peer, row["unit"], ratio, between, goal, words[is_met(row)]])
    print_table(["what", "ours", "peer", "unit", "ratio", "middle half", "goal", ""], table)
    say("A ratio is the median of the rounds' ratios, ours over the peer's.")


def _figure(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
