"""What a tracker is to this package, and which ones there are."""

import importlib
import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from spanwise.errors import ConfigError
from spanwise.runtime.files import JsonObject

TRACKERS = ("tensorboard", "wandb", "mlflow", "trackio")  # each is also the name of the package to import
PROJECT = "spanwise"  # where a tracker sorts runs by project, unless its own environment variable says another


@dataclass(frozen=True, kw_only=True)
class TrackedRun:
    """A run as trackers know it: its folder, a name that people read, its recipe, and the tracker's own id for it.

    The id is None the first time.
    """

    folder: Path
    name: str
    recipe: JsonObject
    run_id: str | None


class Tracker(Protocol):
    """One run in one tracker."""

    @property
    def run_id(self) -> str:
        """Return what opens the same run again."""

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        """Hand on the numbers of a step. Steps may come again with other names, and never with the same name."""

    def close(self) -> None:
        """Write what is still waiting. The same run may be opened again."""


class _Module(Protocol):
    def open_tracker(self, run: TrackedRun) -> Tracker: ...


def check_trackers(names: Sequence[str]) -> None:
    """Raises: ConfigError for a tracker that is not known or not installed."""
    for name in names:
        if name not in TRACKERS:
            raise ConfigError(f"there is no tracker '{name}'; choose among {', '.join(TRACKERS)}.")
        if importlib.util.find_spec(name) is None:
            raise ConfigError(f"--log-to {name} needs {name}, which is not installed: pip install 'spanwise[track]'.")


def open_tracker(name: str, run: TrackedRun) -> Tracker:
    """Open a run in the tracker `name`, or go on with it."""
    module = cast(_Module, importlib.import_module(f"spanwise.runtime.tracking.to_{name}"))
    return module.open_tracker(run)


def readable_name(folder: Path) -> str:
    """Return the last two parts of a run folder in characters that every tracker takes: "runs/qa" is "runs-qa"."""
    parts = folder.absolute().parts[-2:]
    return re.sub(r"[^\w.-]+", "-", "-".join(parts)).strip("-") or "run"
