"""Who computes a pack: a process of its own where the system allows it, else the thread that took it.

Python lets one thread of a process run at a time. A server whose packs are computed in its own threads therefore waits
for them each time it reads or writes a request, most of all under overload, when it has to refuse a thousand requests
in a second. Packs are computed in other processes for that reason, one for each thread of the batcher.

They are forked from a nursery, a process that is itself forked once the models are open. It has the models in the
server's own memory (a page is copied only where one of them writes). A fork has the thread that forked alone, so the
nursery can fork safely at any time, as the server can't: a worker that dies, because the machine has no memory left for
instance, is replaced. Where none can be had the server computes by itself.
"""

import contextlib
import functools
import gc
import logging
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

import torch

from spanwise.errors import SpanwiseError
from spanwise.pipelines.base import Pipeline
from spanwise.runtime.machine import num_usable_cores

logger = logging.getLogger(__name__)
MOST_WORKERS = 4  # cores beyond them are shared out among these
STOPPING = (signal.SIGINT, signal.SIGTERM)
LOG_SECONDS = 10.0  # between two lines about processes that are lost
ATTEMPTS = 2  # of a pack, since a process may have ended before it had this one
AnyPipeline = Pipeline[Any, Any, Any]
Item = Mapping[str, Any] | str
Answerer = Callable[[AnyPipeline, Sequence[Item], Mapping[str, Any]], list[object]]


class WorkerLostError(Exception):
    """The process that computed a pack has ended before it answered."""


def workers_of(device: str) -> tuple[int, int]:
    """Return how many packs are computed at a time, and with how many threads of torch each."""
    if device != "cpu":
        return 1, torch.get_num_threads()
    cores = num_usable_cores()
    workers = min(cores, MOST_WORKERS)
    return workers, cores // workers


def answers_to(pipeline: AnyPipeline, items: Sequence[Item], options: Mapping[str, Any]) -> list[object]:
    """Return the answer to each item, or the exception that it ends in; a bad item spoils no other's answer."""
    try:
        if len(items) > 1:
            return list(pipeline(list(items), **options))
        (item,) = items
        if isinstance(item, Mapping) and "documents" in item:  # a search of its own
            return [pipeline(**item, **options)]  # type: ignore[call-overload]
        return [pipeline(item, **options)]  # type: ignore[call-overload]
    except Exception as error:
        if not isinstance(error, SpanwiseError):
            logger.exception("an input could not be answered")
        if len(items) == 1:
            return [error]
        return [found for item in items for found in answers_to(pipeline, [item], options)]


def in_threads(device: str) -> list[Answerer]:
    """Return an answerer for each pack at a time, which computes in the thread that calls it."""
    count, num_threads = workers_of(device)

    def answer(pipeline: AnyPipeline, items: Sequence[Item], options: Mapping[str, Any]) -> list[object]:
        torch.set_num_threads(num_threads)  # of this thread; the others keep theirs
        return answers_to(pipeline, items, options)

    return [answer] * count


@contextlib.contextmanager
def answerers_for(
    device: str, pipelines: Sequence[AnyPipeline], at: socket.socket | None = None
) -> Iterator[list[Answerer]]:
    """Give the answerers of a server: processes where there is Linux and no GPU, which a fork can't use, else threads.

    Call it before threads that compute are started. device: the type of that of the pipelines. at: the socket where the
    server listens, which no other process may hold open.
    """
    if device != "cpu" or sys.platform != "linux":
        yield in_threads(device)
        return
    with Nursery(pipelines, at) as nursery:
        yield nursery.answerers(*workers_of(device))


class Nursery:
    """A process that holds open pipelines and forks workers from itself. Linux alone has what it needs.

    Make one before threads that compute are started. Used with `with`, it ends with its workers.
    """

    def __init__(self, pipelines: Sequence[AnyPipeline], at: socket.socket | None = None) -> None:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads do not live in a fork
        known = {id(pipeline): pipeline for pipeline in pipelines}  # a fork has everything at the same place
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        sys.stdout.flush()
        sys.stderr.flush()
        gc.freeze()  # a collection would write into every object, and so copy its page
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # a signal must not meet a second server
        self._pid = os.fork()
        if not self._pid:
            self._control.close()
            if at is not None:
                at.close()  # or clients could connect to a server that has ended
            _live(lambda: _raise_workers(theirs, known))
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        theirs.close()

    def __enter__(self) -> "Nursery":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._control.close()
        with contextlib.suppress(ChildProcessError):  # where whoever started the server has children ignored
            os.waitpid(self._pid, 0)

    def answerers(self, count: int, num_threads: int) -> list[Answerer]:
        """Return answerers that compute in so many processes, each with so many threads of torch."""
        return [_Worker(self, num_threads) for _ in range(count)]

    def connect(self, num_threads: int) -> Connection:
        """Fork a worker and return the connection to it. Raises: OSError or EOFError where none can be had."""
        ours, theirs = socket.socketpair()
        found = Connection(ours.detach())
        with self._lock, theirs:
            socket.send_fds(self._control, [str(num_threads).encode()], [theirs.fileno()])
        found.recv()  # its first word
        return found


class _Worker:
    """An answerer whose packs are computed by a process, which is forked when it is needed first, or again."""

    def __init__(self, nursery: Nursery, num_threads: int) -> None:
        self._nursery, self._num_threads = nursery, num_threads
        self._process: Connection | None = None
        self._next_line = 0.0

    def __call__(self, pipeline: AnyPipeline, items: Sequence[Item], options: Mapping[str, Any]) -> list[object]:
        for _ in range(ATTEMPTS):
            try:
                self._process = self._process or self._nursery.connect(self._num_threads)
            except (EOFError, OSError):
                self._say("no process can be had to compute answers; the server computes them itself")
                torch.set_num_threads(self._num_threads)
                return answers_to(pipeline, items, options)
            try:
                self._process.send((id(pipeline), items, options))
                found: list[object] = self._process.recv()
            except (EOFError, OSError):  # a pack that ends its process must never be computed by the server
                self._process = None
                self._say("a process that computed answers has ended (is memory short?); another takes its place")
            except Exception as error:  # what is left in the connection is of no use
                self._process.close()
                self._process = None
                return [error] * len(items)
            else:
                return found
        return [WorkerLostError("the process that computed this answer has ended")] * len(items)

    def _say(self, words: str) -> None:
        """Log a line, unless one was logged some seconds ago."""
        if time.monotonic() >= self._next_line:
            logger.error("%s", words)
            self._next_line = time.monotonic() + LOG_SECONDS


def _live(work: Callable[[], None]) -> None:
    """Do the work of a forked process, and end it. What stops the server reaches a whole group of processes at a
    terminal; a forked one finishes what it has and ends when nobody holds the other end of its connection."""
    status = 1
    try:
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that no dead child stays behind
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        work()
        status = 0
    except BaseException:
        logger.exception("a process that computes answers ends")
    finally:
        os._exit(status)  # without what the server would do at its own end


def _raise_workers(control: socket.socket, known: Mapping[int, AnyPipeline]) -> None:
    """Fork a worker for each connection that comes, until the server closes its end."""
    while True:
        number, sockets, _, _ = socket.recv_fds(control, 16, 1)
        if not number:
            return
        try:
            pid = os.fork()
        except OSError as error:
            logger.error("no process can be forked to compute answers: %s", error)
            pid = -1
        if not pid:
            control.close()
            _live(functools.partial(_compute, Connection(sockets[0]), known, int(number)))
        os.close(sockets[0])


def _compute(asked: Connection, known: Mapping[int, AnyPipeline], num_threads: int) -> None:
    """Answer what is asked until the server closes its end, in a new thread: one that computed with several threads of
    torch before the fork would wait for them, and they are not in this process."""

    def run() -> None:
        torch.set_num_threads(num_threads)
        with contextlib.suppress(EOFError, OSError):
            asked.send(True)
            while True:
                place, items, options = asked.recv()
                found = [sendable(answer) for answer in answers_to(known[place], items, options)]
                try:
                    data = pickle.dumps(found)
                except Exception as error:  # of an answer that is no plain value
                    data = pickle.dumps([sendable(error)] * len(items))
                asked.send_bytes(data)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def sendable(answer: object) -> object:
    """Return an answer; of an exception that can't be sent as it is, one with its words."""
    if not isinstance(answer, Exception):
        return answer
    try:
        pickle.loads(pickle.dumps(answer))  # bytes that were made in this line, never ones that came from outside
    except Exception:
        return RuntimeError(f"{type(answer).__name__}: {answer}")
    return answer
