"""Measure where the time of a run goes, and how much of the machine it uses.

Time is attributed to data, forward, backward, optimizer, communication, evaluation and checkpoint. On CUDA, whose work
runs beside the host, forward, backward and optimizer are measured by events on the device; they are read at log lines,
as far as the device has come, and nothing waits for it.
"""

import contextlib
import functools
import time
from collections import deque
from collections.abc import Iterator

import torch

SECTIONS = ("data", "forward", "backward", "optimizer", "communication", "evaluation", "checkpoint")
DEVICE_SECTIONS = frozenset({"forward", "backward", "optimizer"})


class SectionTimer:
    """Seconds spent in named sections since the last `take`."""

    def __init__(self, device: torch.device) -> None:
        self._on_cuda = device.type == "cuda"
        self._seconds: dict[str, float] = dict.fromkeys(SECTIONS, 0.0)
        self._events: deque[tuple[str, torch.cuda.Event, torch.cuda.Event]] = deque()
        self._began = time.perf_counter()

    @contextlib.contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Attribute the time inside the block to `name`."""
        if self._on_cuda and name in DEVICE_SECTIONS:
            first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            first.record()
            try:
                yield
            finally:
                last.record()
                self._events.append((name, first, last))
            return
        began = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - began

    def take(self) -> dict[str, float]:
        """The sections, `total` and `other` (what no section claims), in seconds; then start again from zero."""
        while self._events and self._events[0][2].query():  # what the device is still busy with counts next time
            name, first, last = self._events.popleft()
            self._seconds[name] = self._seconds.get(name, 0.0) + first.elapsed_time(last) / 1000.0
        now = time.perf_counter()
        total = now - self._began
        claimed = sum(self._seconds.values())
        times = {**self._seconds, "other": max(0.0, total - claimed), "total": total}
        self._seconds, self._began = dict.fromkeys(SECTIONS, 0.0), now
        return times


class Stopwatch:
    """The seconds of one step; on CUDA between two moments of the device, which may lie ahead when the host goes on."""

    def __init__(self, device: torch.device) -> None:
        self._events: list[torch.cuda.Event] | None = [] if device.type == "cuda" else None
        self._moments: list[float] = []
        self._mark()

    def stop(self) -> None:
        """End the step here."""
        self._mark()

    def is_done(self) -> bool:
        """Return whether the device has come to the end of the step."""
        return self._events is None or self._events[-1].query()

    def seconds(self) -> float:
        """The time between begin and end, of a step that is done."""
        if self._events is None:
            return self._moments[1] - self._moments[0]
        return self._events[0].elapsed_time(self._events[1]) / 1000.0

    def _mark(self) -> None:
        if self._events is None:
            self._moments.append(time.perf_counter())
        else:
            self._events.append(torch.cuda.Event(enable_timing=True))
            self._events[-1].record()


@functools.cache
def matmul_peak(device_name: str, precision: str, threads: int, size: int = 1024, seconds: float = 0.2) -> float:
    """The most floating-point operations per second that a square matrix product of `size` reaches on this machine.

    Measured once per process for each (device, precision, threads), best of the repetitions that fit into `seconds`; a
    product of size n counts 2 n^3 operations. It is the yardstick of FLOP utilisation, so a run is compared with what
    this very machine can do and not with a data sheet.
    """
    device = torch.device(device_name)
    size = size if device.type == "cpu" else 8 * size
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    # values as weights have them: of a constant matrix some processors make more a second
    generator = torch.Generator(device).manual_seed(0)
    a = torch.randn((size, size), device=device, generator=generator).to(dtype)
    best, until = float("inf"), time.perf_counter() + seconds
    out = a @ a
    while time.perf_counter() < until or best == float("inf"):
        _synchronize(device)
        began = time.perf_counter()
        torch.mm(a, a, out=out)
        _synchronize(device)
        best = min(best, time.perf_counter() - began)
    return 2.0 * size**3 / best


def peak_beside_others(device_name: str, precision: str, threads: int) -> float:
    """The peak that a run's log tells shares of, which other work on the machine hardly lowers.

    On a CPU it is that of the fastest of products of 256, 512 and 1024: a short one ends before it is interrupted. On a
    quiet machine it lies up to some 40 % above that of 1024 alone, `matmul_peak`, which benchmarks are compared with.
    """
    sizes = (256, 512, 1024) if torch.device(device_name).type == "cpu" else (1024,)
    return max(matmul_peak(device_name, precision, threads, size, 0.2 / len(sizes)) for size in sizes)


def flop_utilisation(flops_per_token: float, tokens_per_second: float, peak: float) -> float:
    """The share of the machine's measured matrix-product peak that the model's own operations make up."""
    return flops_per_token * tokens_per_second / peak


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
