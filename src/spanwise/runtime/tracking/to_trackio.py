"""trackio, the tracker of Hugging Face that keeps runs on this machine; `trackio show` opens its page. Its own
variables (TRACKIO_DIR, TRACKIO_PROJECT) are respected."""

import os
import uuid
from collections.abc import Mapping
from typing import Any

from spanwise.runtime.tracking.tracker import PROJECT, TrackedRun, Tracker


class Trackio:
    """A run of trackio, known by its name."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self.run_id: str = run.name

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        """Add one row."""
        self._run.log(dict(numbers), step=step)

    def close(self) -> None:
        """Write what is waiting."""
        self._run.finish()


def open_tracker(run: TrackedRun) -> Tracker:
    """Begin a run of trackio, or go on with it."""
    import trackio

    return Trackio(
        trackio.init(
            project=os.environ.get("TRACKIO_PROJECT", PROJECT),
            name=run.run_id or f"{run.name}-{uuid.uuid4().hex[:6]}",
            config=run.recipe,
            resume="allow",
            embed=False,
        )
    )
