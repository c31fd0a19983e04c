"""Waiting inputs, and the threads that answer them: each packs those of a kind together, up to a token budget.

A thread has a whole pack computed (workers.py) with its own share of the cores: on two cores, two packs at a time with
a thread of torch each take less than one pack after another with two, whose threads wait for each other at every
product.

Inputs of a kind have the same pipeline and the same options. The oldest is always in the next pack; others join it in
the order they came as far as they fit, so nobody waits for company and nobody is passed over for long. Answers do not
depend on the company: every pack has the same shape (tasks/batches.py).
"""

import asyncio
import collections
import functools
import itertools
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spanwise.pipelines.base import Pipeline
from spanwise.serving.limits import Limits
from spanwise.serving.metrics import Metrics
from spanwise.serving.workers import Answerer, answers_to

logger = logging.getLogger(__name__)
LOOKED_AT = 64  # inputs behind the oldest that may join it
SAMPLE = 1000  # characters of a text whose tokens are counted; the rest is taken to be alike
SPECIALS = 4  # tokens around a text
FORGOTTEN = 0.8  # what is left of a measured pack's weight after the next one
PATIENCE = 0.8  # of the deadline; who would wait longer is told to come again at once


class QueueFullError(Exception):
    """No input is taken now; `seconds` says when to come again."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"the server is busy; come again in {seconds} s.")
        self.seconds = seconds


class StoppingError(Exception):
    """The server is on its way out and takes nothing more."""


@dataclass(eq=False)
class Job:
    """One input, and who waits for its answer. `texts` are what a model reads of it; jobs of one `kind` may share a
    pack, None stands alone."""

    pipeline: Pipeline[Any, Any, Any]
    item: Mapping[str, Any] | str
    options: Mapping[str, Any]
    texts: tuple[str, ...]
    kind: object
    future: asyncio.Future
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    num_tokens: int = 0
    seconds: float = 0.0  # of a worker that it may take, as guessed when it came

    @functools.cached_property
    def size(self) -> int:
        """Return the characters of its texts."""
        return sum(map(len, self.texts))

    def count_tokens(self) -> int:
        """Return about how many tokens a model reads of it; counted once."""
        if not self.num_tokens:
            texts = [text for text in self.texts if text]
            try:
                counts = [len(found.ids) for found in self.pipeline.tokenizer.encode_batch([t[:SAMPLE] for t in texts])]
            except Exception:  # of a text that can't be encoded; its pipeline will say why
                counts = [len(text[:SAMPLE]) for text in texts]
            scaled = (n * max(1.0, len(text) / SAMPLE) for n, text in zip(counts, texts, strict=True))
            self.num_tokens = int(sum(scaled)) + SPECIALS
        return self.num_tokens


class Pace:
    """Seconds for each character that a pipeline reads, by its last packs; full packs weigh more than lone inputs."""

    def __init__(self) -> None:
        self._seconds = self._size = 0.0

    def seen(self, seconds: float, size: int) -> None:
        """Count what a pack of so many characters took."""
        self._seconds = FORGOTTEN * self._seconds + seconds
        self._size = FORGOTTEN * self._size + size

    def guess(self, size: int) -> float:
        """Return the seconds that so many characters may take; 0 before the first pack."""
        return size * self._seconds / max(1.0, self._size)


class Batcher:
    """A bounded queue and its threads, one for each answerer. `put` is called on the event loop, everything else from
    any thread."""

    def __init__(self, limits: Limits, metrics: Metrics, answerers: Sequence[Answerer] = (answers_to,)) -> None:
        self._limits, self._metrics = limits, metrics
        self._jobs: collections.deque[Job] = collections.deque()
        self._changed = threading.Condition()
        self._size = 0  # characters that wait
        self._seconds = 0.0  # of a worker, that what waits may take
        self._paces: collections.defaultdict[int, Pace] = collections.defaultdict(Pace)  # by pipeline
        self.is_stopping = False
        self._threads = [
            threading.Thread(target=self._run, args=(answerer,), name=f"spanwise-batcher-{number}", daemon=True)
            for number, answerer in enumerate(answerers)
        ]
        metrics.gauges = {"spanwise_waiting": lambda: len(self._jobs), "spanwise_ready": lambda: not self.is_stopping}

    def start(self) -> None:
        """Begin to answer."""
        for thread in self._threads:
            thread.start()

    def check_room(self, count: int = 1, size: int = 0) -> None:
        """Raises: QueueFullError where so many inputs don't fit now; StoppingError once the server stops."""
        if self.is_stopping:
            raise StoppingError
        waiting = len(self._jobs)
        wait = self._seconds / len(self._threads)
        is_full = waiting + count > self._limits.waiting or self._size + size > self._limits.waiting_text
        if (is_full or wait > PATIENCE * self._limits.deadline) and (waiting or count > self._limits.waiting):
            raise QueueFullError(max(1, round(wait)))

    def put(self, jobs: list[Job]) -> None:
        """Take all of these inputs or none. Raises: as `check_room`."""
        size = sum(job.size for job in jobs)
        with self._changed:
            self.check_room(len(jobs), size)
            for job in jobs:
                job.seconds = self._paces[id(job.pipeline)].guess(job.size)
                self._seconds += job.seconds
            self._jobs.extend(jobs)
            self._size += size
            self._changed.notify(len(jobs))

    def close(self) -> None:
        """Answer what was taken, take nothing more, and end the threads."""
        with self._changed:
            self.is_stopping = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _run(self, answerer: Answerer) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs or self.is_stopping)
                if not self._jobs:
                    return
                seen = list(itertools.islice(self._jobs, LOOKED_AT))
            for job in seen:  # not under the lock, which the event loop waits for
                if job.kind == seen[0].kind:
                    job.count_tokens()
            with self._changed:
                jobs = self._next() if self._jobs else []  # another thread may have taken them meanwhile
            if jobs:
                self._answer(jobs, answerer)

    def _next(self) -> list[Job]:
        """Take the oldest inputs of a kind, as many as make a pack; those that nobody waits for are dropped."""
        first = self._jobs.popleft()
        chosen, left = [first], []
        room = 0 if first.kind is None else first.pipeline.packing.capacity - first.count_tokens()
        for _ in range(min(LOOKED_AT - 1, len(self._jobs)) if room > SPECIALS else 0):
            job = self._jobs.popleft()
            if job.kind == first.kind and job.count_tokens() <= room:
                chosen.append(job)
                room -= job.num_tokens
            else:
                left.append(job)
        self._jobs.extendleft(reversed(left))
        self._size -= sum(job.size for job in chosen)
        # The sum of guesses may end a little beside 0, which an empty queue puts right.
        self._seconds = max(0.0, self._seconds - sum(job.seconds for job in chosen)) if self._jobs else 0.0
        wanted = [job for job in chosen if not job.future.cancelled()]
        if len(wanted) < len(chosen):
            self._metrics.add("spanwise_expired_total", len(chosen) - len(wanted))
        return wanted

    def _answer(self, jobs: list[Job], answerer: Answerer) -> None:
        began = time.monotonic()
        try:
            answers = answerer(jobs[0].pipeline, [job.item for job in jobs], jobs[0].options)
        except Exception as error:  # whatever it is, the thread has to live
            logger.exception("a pack could not be answered")
            answers = [error] * len(jobs)
        with self._changed:
            pace = self._paces[id(jobs[0].pipeline)]
            pace.seen(time.monotonic() - began, sum(job.size for job in jobs))
        self._metrics.add("spanwise_packs_total")
        self._metrics.add("spanwise_inputs_total", len(jobs))
        for loop in {job.loop for job in jobs}:
            own = [(job.future, answer) for job, answer in zip(jobs, answers, strict=True) if job.loop is loop]
            loop.call_soon_threadsafe(_deliver, own)


def _deliver(answers: list[tuple[asyncio.Future, object]]) -> None:
    for future, answer in answers:
        if future.done():  # its deadline has passed
            continue
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)
