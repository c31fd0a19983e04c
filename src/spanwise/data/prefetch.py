"""Make the next items while the current one is used: one thread, in order, nothing to orphan.

The maker is a pure function of an index, so the depth changes nothing but speed. Compiled loops release the
interpreter lock, which is why a thread is enough and no worker process is needed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar, cast

T = TypeVar("T")


class Prefetcher(Generic[T]):
    """Call `make(first)`, `make(first + 1)`, ... ahead of use and hand the results out by index.

    `depth` is how many results may wait; 0 makes each one on demand in the caller's thread. Asking for another index
    than the next one is allowed: what was made ahead is dropped and making goes on from there. An exception of the
    maker is raised by the `get` of its index, and by every later `get` of that index.
    """

    def __init__(self, make: Callable[[int], T], first: int = 0, depth: int = 2) -> None:
        if depth < 0:
            raise ValueError(f"prefetch depth must be 0 or more, got {depth}")
        self._make = make
        self._depth = depth
        self._changed = threading.Condition()
        self._ready: deque[tuple[T | None, BaseException | None]] = deque()
        self._front = first  # the index that is handed out next
        self._next_index = first  # the index that is made next
        self._run = 0  # grows at each jump, so that a result made for an earlier run is dropped
        self._closed = False
        self._thread: threading.Thread | None = None
        if depth:
            self._thread = threading.Thread(target=self._work, name="spanwise-prefetch", daemon=True)
            self._thread.start()

    def get(self, index: int) -> T:
        """Return `make(index)`, waiting for it where it is not ready."""
        if self._thread is None:
            return self._make(index)
        with self._changed:
            if self._closed:
                raise ValueError("this Prefetcher is closed")
            if index != self._front:
                self._ready.clear()
                self._front = self._next_index = index
                self._run += 1
                self._changed.notify_all()
            while not self._ready and not self._closed:
                self._changed.wait()
            if self._closed:
                raise ValueError("this Prefetcher was closed while an item was awaited")
            item, error = self._ready[0]
            if error is not None:
                raise error
            self._ready.popleft()
            self._front += 1
            self._changed.notify_all()
        return cast(T, item)  # made without an error: what `make` gave, None included

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._closed and (len(self._ready) >= self._depth or self._failed()):
                    self._changed.wait()
                if self._closed:
                    return
                index, run = self._next_index, self._run
                self._next_index += 1
            item, error = None, None
            try:
                item = self._make(index)
            except BaseException as raised:
                error = raised
            with self._changed:
                if run == self._run:
                    self._ready.append((item, error))
                self._changed.notify_all()

    def _failed(self) -> bool:
        return bool(self._ready) and self._ready[-1][1] is not None

    def close(self) -> None:
        """Stop the thread once the item in the making is done; later calls of `get` are refused."""
        with self._changed:
            self._closed = True
            self._ready.clear()
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self) -> Prefetcher[T]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        self.close()
