"""Event files for TensorBoard, in the folder `tensorboard` of the run."""

from collections.abc import Mapping
from typing import Any

from spanwise.runtime.tracking.tracker import TrackedRun, Tracker


class TensorBoard:
    """A writer of event files. A run that goes on adds a file, which TensorBoard reads as the same run."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self.run_id = "tensorboard"

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        """Write one scalar per number."""
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Write what is waiting."""
        self._writer.close()


def open_tracker(run: TrackedRun) -> Tracker:
    """Begin an event file."""
    from torch.utils.tensorboard import SummaryWriter

    return TensorBoard(SummaryWriter(str(run.folder / "tensorboard")))
