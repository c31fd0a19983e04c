"""Ctrl-C and SIGTERM as a request: the first waits for the end of the step, the second stops at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM") if hasattr(signal, name))


class StopRequested:
    """A flag that signals set: `with StopRequested() as stop: ... if stop: save and leave`.

    Outside the main thread Python delivers no signals; there the flag can be set by `request` alone.
    """

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._before: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return self._asked.is_set()

    def request(self) -> None:
        """Ask for a stop as the first signal does."""
        self._asked.set()

    def __enter__(self) -> StopRequested:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        for number, handler in self._before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        self._before = {}

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._asked.is_set():
            raise KeyboardInterrupt
        self._asked.set()
