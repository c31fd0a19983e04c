"""Hand the numbers of one run to its trackers, each number once, also where the run was stopped and goes on.

`tracking.json` in the run folder has, per tracker, its id of the run and the last step of every number that it was
given. A resumed run does some steps again; what a tracker has of them is not sent again.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spanwise.runtime.files import RECIPE_NAME, write_text_atomic
from spanwise.runtime.json_text import object_or_empty
from spanwise.runtime.tracking.tracker import TrackedRun, Tracker, check_trackers, open_tracker, readable_name

STATE_NAME = "tracking.json"


class Tracking:
    """The trackers of one run folder. They are opened at the first number: a run takes an empty folder only."""

    def __init__(self, names: Sequence[str], folder: Path, say: Callable[[str], None]) -> None:
        """Raises: ConfigError for a tracker that is not known or not installed."""
        check_trackers(names)
        self._names = list(dict.fromkeys(names))
        self._folder, self._say = folder, say
        self._open: dict[str, Tracker] = {}
        self._state: dict[str, Any] | None = None  # read with the first number

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        """Give every tracker those numbers that it has not got of this step. A tracker that fails is left out from
        here on, which is said: a run does not end because nobody can watch it."""
        for name in list(self._names):
            with self._leaving_out(name):
                self._log(name, step, numbers)

    def close(self) -> None:
        """Close the trackers; the next number opens them again, as the same runs."""
        for name in list(self._open):
            with self._leaving_out(name), contextlib.redirect_stdout(sys.stderr):
                self._open.pop(name).close()

    def _log(self, name: str, step: int, numbers: Mapping[str, float]) -> None:
        known = self._known().setdefault(name, {"run_id": None, "steps": {}})
        new = {key: value for key, value in numbers.items() if step > known["steps"].get(key, -1)}
        if not new:
            return
        with contextlib.redirect_stdout(sys.stderr):  # standard output is for results
            if name not in self._open:
                run = TrackedRun(
                    folder=self._folder,
                    name=readable_name(self._folder),
                    recipe=object_or_empty(self._folder / RECIPE_NAME),
                    run_id=known["run_id"],
                )
                self._open[name] = open_tracker(name, run)
            self._open[name].log(step, new)
        known["run_id"] = self._open[name].run_id
        known["steps"] |= dict.fromkeys(new, step)
        write_text_atomic(self._folder / STATE_NAME, json.dumps(self._state, indent=1) + "\n")

    def _known(self) -> dict[str, Any]:
        if self._state is None:
            self._state = object_or_empty(self._folder / STATE_NAME)
        return self._state

    @contextlib.contextmanager
    def _leaving_out(self, name: str) -> Any:
        try:
            yield
        except Exception as error:  # whatever another project's code raises
            self._names = [other for other in self._names if other != name]
            self._open.pop(name, None)
            words = str(error).strip().splitlines() or [type(error).__name__]
            self._say(f"{name} gets no more numbers of this run: {words[0]} (metrics.jsonl has everything)")
