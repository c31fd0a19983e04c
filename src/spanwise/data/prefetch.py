"""Make the next items while the current one is used: one thread, in order, nothing to orphan.

The maker is a pure function of an index, so the depth changes nothing but speed. Compiled loops release the
interpreter lock, which is why a thread is enough and no worker process is needed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Generic, TypeVar

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
        self._ahead: deque[Future[T]] = deque()
        self._front = first  # the index that the first of them is for
        self._closed = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="spanwise-prefetch") if depth else None
        self._fill()

    def get(self, index: int) -> T:
        """Return `make(index)`, waiting for it where it is not ready."""
        if self._thread is None:
            return self._make(index)
        if self._closed:
            raise ValueError("this Prefetcher is closed")
        if index != self._front:
            self._drop()
            self._front = index
            self._fill()
        try:
            item = self._ahead[0].result()
        except CancelledError:
            raise ValueError("this Prefetcher was closed while an item was awaited") from None
        self._ahead.popleft()
        self._front += 1
        self._fill()
        return item

    def close(self) -> None:
        """Stop the thread once the item in the making is done; later calls of `get` are refused."""
        self._closed = True
        self._drop()
        if self._thread is not None:
            self._thread.shutdown()

    def _fill(self) -> None:
        while self._thread is not None and len(self._ahead) < self._depth:
            self._ahead.append(self._thread.submit(self._make, self._front + len(self._ahead)))

    def _drop(self) -> None:
        for item in self._ahead:
            item.cancel()
        self._ahead.clear()

    def __enter__(self) -> Prefetcher[T]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
