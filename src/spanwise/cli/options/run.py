"""Options of the commands that train: where a run goes on, what is changed, how often it is saved, what it says."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from spanwise.cli.options.ranges import CountOrNone
from spanwise.errors import ConfigError
from spanwise.runtime.program import program

if TYPE_CHECKING:
    from spanwise.runtime.progress import RunLog

LogTo = list[Literal["tensorboard", "wandb", "mlflow", "trackio"]] | None


def read_changes(
    config: Path | None, overrides: Sequence[str] | None, *, save_every: int | None = None, keep: int | None = None
) -> list[str]:
    """Return `path=value` changes: those of a YAML file first, then the options, so that --set wins.

    Raises: ConfigError for a file that can't be read as one.
    """
    from spanwise.config import overrides_from_yaml

    changes: list[str] = []
    if config is not None:
        try:
            text = config.read_text(encoding="utf-8")
        except (FileNotFoundError, IsADirectoryError, UnicodeDecodeError):
            raise ConfigError(
                f"--config {config} is no YAML file; `spanwise init RECIPE --out FILE` writes one."
            ) from None
        try:
            changes += overrides_from_yaml(text)
        except ConfigError as error:
            raise ConfigError(f"{config}: {error}") from None
    options = {"save_every": save_every, "keep": keep}
    changes += [f"training.{name}={value}" for name, value in options.items() if value is not None]
    return [*changes, *(overrides or [])]


def resume_command(arguments: Sequence[str] | None = None) -> str:
    """Return this very command with --resume, for the message of a run that was interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return f"{program()} {shlex.join([*given, *([] if '--resume' in given else ['--resume'])])}"


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
    save_every: CountOrNone = None
    """Steps from one checkpoint to the next. Default: every 10 minutes (training.save_minutes)."""
    keep: CountOrNone = None
    """How many of the newest checkpoints are kept."""
    deterministic: bool = False
    """Give equal bits on a GPU too, also after an interruption, somewhat slower. A CPU always does."""
    compile: Literal["auto", "on", "graphs", "off"] | None = None
    """Layers and heads of pre-training by torch.compile; graphs: and whole packs and updates as CUDA graphs, for small
    models. Default: on a GPU."""
    device: str | None = None
    """cpu, cuda or cuda:1. Default: a GPU where there is one."""
    log_to: LogTo = None
    """Trackers that get the numbers too: tensorboard, wandb, mlflow or trackio. May be repeated."""
    json: bool = False
    """Print one JSON object at the end, progress to standard error."""

    def training(self, out: Path) -> dict[str, Any]:
        """Return the arguments that every function which trains into the folder `out` takes. Raises: ConfigError."""
        changes = read_changes(self.config, self.overrides, save_every=self.save_every, keep=self.keep)
        changes = [*changes, *(["training.deterministic=true"] if self.deterministic else [])]
        changes += [] if self.compile is None else [f"training.compile={self.compile}"]
        return {
            "resume": self.resume,
            "allow_edited": self.allow_edited,
            "overrides": changes,
            "device": self.device,
            "log": self.log(out),
            "resume_command": resume_command(),
        }

    def log(self, folder: Path) -> "RunLog":
        """Return the log of a run folder, which speaks where the result does not."""
        from spanwise.runtime.progress import RunLog

        stream = sys.stderr if self.json else sys.stdout
        return RunLog(folder, stream=stream, trackers=self.log_to or ())


USUAL_RUN = RunOptions()
