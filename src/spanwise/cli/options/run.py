"""Options of the commands that train: where a run goes on, what is changed, how often it is saved, what it says."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from spanwise.cli.changes import read_changes, resume_command

if TYPE_CHECKING:
    from spanwise.runtime.progress import RunLog


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a run is changed, saved, watched and gone on with."""

    resume: bool = False
    """Go on with the run in OUT."""
    allow_edited: bool = False
    """Start from a model even where its files differ from its manifest; the log names them."""
    config: Path | None = None
    """YAML of changed values; spanwise init writes one."""
    overrides: Annotated[list[str] | None, Parameter(name="--set")] = None
    """Change a value: path=value, for example training.learning_rate=3e-5. May be repeated."""
    save_every: int | None = None
    """Steps from one checkpoint to the next. Default: every 10 minutes (training.save_minutes)."""
    keep: int | None = None
    """How many of the newest checkpoints are kept."""
    device: str | None = None
    """cpu, cuda or cuda:1. Default: a GPU where there is one."""
    tensorboard: bool = False
    """Write TensorBoard files too."""
    json: bool = False
    """Print one JSON object at the end, progress to standard error."""

    def training(self, out: Path) -> dict[str, Any]:
        """Return the arguments that every function which trains into the folder `out` takes. Raises: ConfigError."""
        return {
            "resume": self.resume,
            "allow_edited": self.allow_edited,
            "overrides": read_changes(self.config, self.overrides, save_every=self.save_every, keep=self.keep),
            "device": self.device,
            "log": self.log(out),
            "resume_command": resume_command(),
        }

    def log(self, folder: Path) -> "RunLog":
        """Return the log of a run folder, which speaks where the result does not."""
        from spanwise.runtime.progress import RunLog

        stream = sys.stderr if self.json else sys.stdout
        return RunLog(folder, stream=stream, tensorboard="on" if self.tensorboard else "off")


USUAL_RUN = RunOptions()
