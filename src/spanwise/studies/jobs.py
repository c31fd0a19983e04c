"""Several models of a study side by side, each in a process of its own on one thread.

A process that is asked to stop saves first. Where the process that started it dies, it asks itself to stop: nothing is
left running that nobody waits for.
"""

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import cast

from spanwise.config import to_record
from spanwise.config.user_files import load_file
from spanwise.errors import InterruptedAndSaved, SpanwiseError
from spanwise.runtime.progress import RunLog
from spanwise.studies.plan import StudyPlan, Unit
from spanwise.studies.units import left_to_measure, work_on

THREADS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
AGAIN = "the same command goes on"


def work_beside(plan: StudyPlan, jobs: int, log: RunLog, after: Callable[[Unit], object]) -> None:
    """Work on all models that are not done, `jobs` at a time; `after` is called here whenever one is.

    A process works on one model after the other: what it has loaded stays as it was when the study began.

    Raises: what went wrong in a process, once the others have stopped and saved.
    """
    waiting = [unit for unit in plan.units if left_to_measure(plan, unit)]
    spawn = multiprocessing.get_context("spawn")
    sent = pickle.dumps(plan), own_modules(plan)
    workers: dict[Connection, BaseProcess] = {}
    busy: dict[Connection, Unit] = {}
    with _environment(THREADS):  # read by a new process when it imports torch and numba
        try:
            for _ in range(min(jobs, len(waiting))):
                ours, theirs = spawn.Pipe()
                workers[ours] = spawn.Process(target=_work, args=(*sent, theirs))
                workers[ours].start()
                theirs.close()
            free = list(workers)
            while waiting or busy:
                while waiting and free:
                    chosen = free.pop(0)
                    busy[chosen] = waiting.pop(0)
                    with contextlib.suppress(ConnectionError):  # it died before; hearing from it tells
                        chosen.send(busy[chosen])
                    log.say(f"{busy[chosen].name}: begun")
                for answering in cast(list[Connection], wait(list(busy))):
                    unit = busy.pop(answering)
                    _hear(answering, workers[answering], unit)
                    log.say(f"{unit.name}: done")
                    after(unit)
                    free.append(answering)
        except KeyboardInterrupt:
            raise InterruptedAndSaved(f"Stopped on request; what was done is saved, and {AGAIN}.") from None
        finally:
            for connection, process in workers.items():
                if connection in busy:
                    process.terminate()  # a request: it saves
                connection.close()
            for process in workers.values():
                process.join()


def own_modules(plan: StudyPlan) -> dict[str, str]:
    """Return the files of a user's modules, by name: another process could not import the parts in them otherwise."""
    records = [
        plan.identity["arms"],
        plan.identity.get("first"),
        *(to_record(probe) for probe in plan.study.found_probes),
    ]
    names = {name.partition(":")[0] for record in records for name in _named(record) if ":" in name}
    modules = {name: sys.modules.get(name) for name in names if name != "__main__"}
    return {name: str(module.__file__) for name, module in modules.items() if module is not None and module.__file__}


def _named(record: object) -> Iterator[str]:
    """Give every part and function that a record names."""
    if isinstance(record, Mapping):
        yield from (str(record[key]) for key in ("part", "function") if key in record)
        for value in record.values():
            yield from _named(value)
    elif isinstance(record, list):
        for value in record:
            yield from _named(value)


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _hear(answering: Connection, process: BaseProcess, unit: Unit) -> None:
    """Raises: what the process raised; SpanwiseError where it died without a word."""
    try:
        error: Exception | None = answering.recv()
    except (EOFError, ConnectionError):
        process.join()
        error = SpanwiseError(
            f"the process that worked on {unit.name} died (status {process.exitcode}); {AGAIN} where it stopped."
        )
    if error is not None:
        raise error


def _work(plan: bytes, modules: Mapping[str, str], theirs: Connection) -> None:
    """Work on models in a process of its own, one after the other, and answer each with its error or None."""
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # Ctrl-C is for the one who started it, who asks once
    threading.Thread(target=_stop_without_parent, daemon=True).start()
    for name, path in modules.items():
        load_file(Path(path), name)
    study: StudyPlan = pickle.loads(plan)  # bytes that our own parent process handed over, never a file
    with contextlib.suppress(EOFError):  # nobody asks for more
        while True:
            unit: Unit = theirs.recv()
            answer: SpanwiseError | None = None
            try:
                work_on(study, unit, stream=None)
            except SpanwiseError as error:
                answer = type(error)(str(error))
            with contextlib.suppress(BrokenPipeError):  # nobody is there to hear it
                theirs.send(answer)


def _stop_without_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
