"""Weights & Biases. Its files lie in the folder `wandb` of the run; its own variables (WANDB_MODE=offline,
WANDB_PROJECT, WANDB_ENTITY) are respected."""

import os
import uuid
from collections.abc import Mapping
from typing import Any

from spanwise.runtime.tracking.tracker import PROJECT, TrackedRun, Tracker


class WeightsAndBiases:
    """A run of wandb. The step is a number like the others, by which all are drawn: wandb's own counter only grows, and
    would drop an evaluation that comes after a resume."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self.run_id: str = run.id
        run.define_metric("step")
        run.define_metric("*", step_metric="step")

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        """Add one row."""
        self._run.log({**numbers, "step": step})

    def close(self) -> None:
        """Send what is waiting; offline, write it."""
        self._run.finish()


def open_tracker(run: TrackedRun) -> Tracker:
    """Begin a run of wandb, or go on with it."""
    import wandb

    return WeightsAndBiases(
        wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            id=run.run_id or uuid.uuid4().hex[:12],
            name=run.name,
            config=run.recipe,
            dir=str(run.folder),
            resume="allow",
            settings=wandb.Settings(console="off"),  # standard output is ours
        )
    )
