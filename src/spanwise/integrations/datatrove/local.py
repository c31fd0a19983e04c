"""The executor of one machine, which notices a worker that was killed: datatrove's own waits for its task for ever."""

import os
import signal
import sys
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import multiprocess
from datatrove.executor import LocalPipelineExecutor

from spanwise.errors import PeerLostError


class WatchedLocalExecutor(LocalPipelineExecutor):
    """datatrove's local executor; where a worker is killed, all end at once, with a sentence and status 6."""

    def run(self) -> Any:
        done = Event()
        watch = Thread(target=watch_workers, args=(done, multiprocess.active_children, end_all), daemon=True)
        watch.start()
        try:
            return super().run()
        finally:
            done.set()
            watch.join()


def watch_workers(done: Event, children: Callable[[], list[Any]], lost: Callable[[Any], None]) -> None:
    """Call `lost` with the first worker that a signal killed; SIGTERM is how a pool that is done ends its own."""
    seen: dict[int, Any] = {}  # a pool forgets those that died
    while not done.wait(0.2):
        seen |= {child.pid: child for child in children()}
        for child in seen.values():
            if (child.exitcode or 0) < 0 and child.exitcode != -signal.SIGTERM:
                lost(child)
                return


def end_all(lost: Any) -> None:
    """Say which worker was lost, and end this process and its workers."""
    name = signal.Signals(-lost.exitcode).name
    print(
        f"A worker (process {lost.pid}) was killed by {name}, as the system does where memory is short. Start the same "
        "command again, with fewer workers or smaller parts: what is finished is skipped.",
        file=sys.stderr,
        flush=True,
    )
    for child in multiprocess.active_children():
        child.kill()
    os._exit(PeerLostError.exit_status)  # the pool cannot be closed: it waits for the task of the worker that is gone
