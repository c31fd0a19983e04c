"""When a run is saved, and where to: its checkpoints, and the trained model at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from spanwise.errors import CheckpointError
from spanwise.runtime.files import JsonObject, atomic_folder, require_free_space, verify_folder
from spanwise.runtime.progress import RunLog
from spanwise.training.checkpoint import (
    largest_weight,
    require_finite,
    save_checkpoint,
    training_tensors,
    whole_checkpoints,
)
from spanwise.training.optim import Optimizer
from spanwise.training.plan import TrainingOptions
from spanwise.training.run_folder import RunFolder

LARGEST_USUAL_WEIGHT = 1e5  # trained weights stay far below; above it a run has come apart
_BYTES_PER_PARAMETER = 3 * 12  # weights and two moments in float32; two checkpoints are kept while a third is written


@dataclass(eq=False, kw_only=True)
class Saver:
    """Saves one run. Of several processes the leader's writes; the others only keep the same account."""

    folder: RunFolder
    options: TrainingOptions
    model: nn.Module
    optimizer: Optimizer
    save_model: Callable[[Path], None]  # into an empty folder
    log: RunLog
    is_leader: bool

    def __post_init__(self) -> None:
        num_parameters = sum(parameter.numel() for parameter in self.model.parameters())
        require_free_space(self.folder.path, _BYTES_PER_PARAMETER * num_parameters)
        self.saved_step: int | None = None
        self._saved_at = time.monotonic()

    def is_due(self, step: int) -> bool:
        """Return whether it is time for a checkpoint after `step` steps."""
        every, minutes = self.options.save_every, self.options.save_minutes
        if every is not None and step % every == 0:
            return True
        return minutes is not None and time.monotonic() - self._saved_at >= 60 * minutes

    def save(self, step: int, state: JsonObject) -> None:
        """Commit a checkpoint. Raises: NumericsError, SpanwiseError."""
        self.saved_step, self._saved_at = step, time.monotonic()
        if self.is_leader:
            self.log.sync()  # a checkpoint never counts a line that a power loss took
            checkpoints, keep = self.folder.checkpoints, self.options.keep
            save_checkpoint(checkpoints, step, self.model, self.optimizer, state, self.save_model, keep=keep)
            self._saved_at = time.monotonic()

    def final_is_whole(self) -> bool:
        """Return whether the trained model lies there, every byte as its manifest says."""
        try:
            verify_folder(self.folder.final)
        except CheckpointError:
            return False
        return True

    def commit_final(self, step: int) -> None:
        """Write the trained model once; a finished run that is resumed finds it and changes nothing."""
        if not self.is_leader or self.final_is_whole():
            return
        require_finite(training_tensors(self.model, self.optimizer), step)
        self.model.eval()
        with atomic_folder(self.folder.final, existing="replace") as temporary:
            self.save_model(temporary)

    def where_to_start_again(self) -> str:
        """Advice after bad numbers: the newest checkpoint whose weights are of a usual size."""
        for path, _ in whole_checkpoints(self.folder.checkpoints, self.log.say):
            largest = largest_weight(path)
            if largest <= LARGEST_USUAL_WEIGHT:
                how = "start a new run from it (pretrain --init, finetune --model)"
                return f"The last good checkpoint is {path}; {how}."
            self.log.say(f"Checkpoint {path.name} is no good start: it has a weight of {largest:.2g}.")
        return "No good checkpoint was saved before: start a new run."
