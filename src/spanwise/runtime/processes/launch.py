"""Start one command as several processes on this machine and wait for all of them: `--processes N`.

The processes are told who they are as `torchrun` does it. The first one's output is the run's; of the others only a
message before death is shown, where theirs was the first. Ctrl-C and SIGTERM are handed on once, so that all of them
save and leave; they also leave when this process is killed.
"""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from spanwise.errors import PeerLostError

LAUNCHED_BY = "SPANWISE_LAUNCHED_BY"  # process id of the launcher, in the environment of what it started
GRACE_SECONDS = 20.0  # to notice that a peer has gone, before a process is ended
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
_POLL_SECONDS = 0.05
_PR_SET_PDEATHSIG = 1


def launch(command: Sequence[str], num_processes: int, num_threads: int) -> int:
    """Run `command` as `num_processes` processes of `num_threads` threads each.

    Returns one exit status: the leader's, or that of the process that failed first where the leader only lost it. A
    process that a signal killed is named on standard error, with its rank and the signal.
    """
    with contextlib.ExitStack() as stack:
        said = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(1, num_processes)]
        port = str(_free_port())
        processes = [
            subprocess.Popen(
                command,
                env=_environment(rank, num_processes, num_threads, port),
                stdout=None if rank == 0 else subprocess.DEVNULL,
                stderr=None if rank == 0 else said[rank - 1],
                start_new_session=hasattr(os, "setsid"),  # a terminal's Ctrl-C reaches them through us, once
            )
            for rank in range(num_processes)
        ]
        try:
            with _handed_on(processes):
                first, ended = _wait(processes)
        finally:
            _end(processes, 0.0)
        statuses = [process.returncode for process in processes]
        excused = (0, PeerLostError.exit_status, -signal.SIGTERM)
        if first is not None and statuses[first] in excused:  # the cause and who noticed it ended in one glance
            causes = (place for place, status in enumerate(statuses) if status not in excused and place not in ended)
            first = next(causes, first)
        blamed = first if first is not None and (statuses[0] in excused or 0 in ended) else 0
        if blamed:
            said[blamed - 1].seek(0)
            words = said[blamed - 1].read().decode(errors="replace")
            sys.stderr.write(f"process {blamed} of {num_processes}: {words}")
        if statuses[blamed] < 0:
            sys.stderr.write(_killed(blamed, num_processes, -statuses[blamed]))
        status = statuses[blamed]
        return 128 - status if status < 0 else status  # killed by signal n: 128 + n, as a shell says it


def _killed(rank: int, num_processes: int, number: int) -> str:
    """The line about a process that a signal ended, which leaves no word of its own."""
    name = signal.Signals(number).name if number in set(signal.Signals) else "a signal"
    why = "; the system does that where memory runs out" if name == "SIGKILL" else ""
    return f"process {rank} of {num_processes} was killed by {name} (signal {number}){why}.\n"


def leave_with_launcher() -> None:
    """Called by a launched process: be asked to stop (SIGTERM) when the launcher is killed. Linux only."""
    parent = os.environ.get(LAUNCHED_BY)
    if parent is None or sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != int(parent):  # it died before the line above
        os.kill(os.getpid(), signal.SIGTERM)


def _environment(rank: int, size: int, num_threads: int, port: str) -> dict[str, str]:
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size}
    numbers |= {LAUNCHED_BY: os.getpid(), **dict.fromkeys(THREAD_VARIABLES, num_threads)}
    named = {name: str(value) for name, value in numbers.items()}
    return {**os.environ, **named, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}


def _wait(processes: Sequence[subprocess.Popen]) -> tuple[int | None, set[int]]:
    """Wait for all. Once one has failed, the others get a little time to notice, and then are ended.

    Returns the place of the first that failed, and the places of those that were ended here.
    """
    first: int | None = None
    ended: set[int] = set()
    until = float("inf")
    while any(process.poll() is None for process in processes):
        for place, process in enumerate(processes):
            if first is None and process.poll() not in (None, 0):
                first, until = place, time.monotonic() + GRACE_SECONDS
        if time.monotonic() > until:
            ended = {place for place, process in enumerate(processes) if process.poll() is None}
            _end(processes, 5.0)
        time.sleep(_POLL_SECONDS)
    if first is None:
        first = next((place for place, process in enumerate(processes) if process.returncode), None)
    return first, ended


def _end(processes: Sequence[subprocess.Popen], seconds: float) -> None:
    """End what still runs: asked first, then killed."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    until = time.monotonic() + seconds
    for process in processes:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def _handed_on(processes: Sequence[subprocess.Popen]):
    """Hand SIGINT and SIGTERM on to every process while the block runs."""

    def hand_on(number: int, _: object) -> None:
        for process in processes:
            if process.poll() is None:
                process.send_signal(number)

    before = {number: signal.signal(number, hand_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
