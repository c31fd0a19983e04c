"""A worker that is killed ends the local executor with a sentence, in place of a wait without an end."""

import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

SCRIPT = """
import os, signal, sys, time
from spanwise.integrations.datatrove.local import WatchedLocalExecutor

def work(data, rank, world_size):
    print("worker", os.getpid(), flush=True)
    if rank == 1 and sys.argv[2] == "killed":
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(600 if sys.argv[2] == "killed" else 0)

if __name__ == "__main__":
    WatchedLocalExecutor([work], tasks=3, workers=2, logging_dir=sys.argv[1]).run()
    print("done")
"""


def start(folder, how):
    (folder / "script.py").write_text(SCRIPT)
    command = [sys.executable, folder / "script.py", folder / "logs", how]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_a_killed_worker_ends_all_with_its_status_and_leaves_no_process(tmp_path):
    done = start(tmp_path, "killed")
    assert done.returncode == 6
    workers = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("worker")}
    assert len(workers) >= 2
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("A worker")]
    assert "was killed by SIGKILL" in said and said.split()[3].strip(")") in workers
    deadline = time.monotonic() + 10  # a killed process ends a moment after it was told to
    while left := running(workers):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def running(processes):
    """Those of the processes that have not ended; one that nobody has asked about yet has."""
    told = subprocess.run(["ps", "-o", "pid=,stat=", "-p", ",".join(processes)], capture_output=True, text=True)
    return [line for line in told.stdout.splitlines() if not line.split()[1].startswith("Z")]


@pytest.mark.slow
def test_workers_that_end_their_tasks_are_not_taken_for_lost_ones(tmp_path):
    done = start(tmp_path, "well")
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "done"


@pytest.mark.slow
def test_only_a_signal_that_the_pool_does_not_send_counts():
    from threading import Event

    from spanwise.integrations.datatrove.local import watch_workers

    def lost_among(*codes):
        done, lost = Event(), []
        children = [[SimpleNamespace(pid=pid, exitcode=code) for pid, code in enumerate(codes)]]

        def listed():
            if children:
                return children.pop()
            done.set()
            return []

        watch_workers(done, listed, lambda child: lost.append(child.exitcode))
        return lost

    assert lost_among(None, 0, 1, -signal.SIGTERM) == []
    assert lost_among(None, -signal.SIGSEGV) == [-signal.SIGSEGV]
