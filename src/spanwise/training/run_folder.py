"""The folder of one run: who may write to it, and what lies where.

run.json                    marks the folder as a run of ours
plan.jsonl  metrics.jsonl   the plan and the log
checkpoints/step-000001000  what a run goes on from
final                       the trained model
"""

import contextlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from spanwise.errors import ConfigError
from spanwise.runtime.files import (
    CHECKPOINTS_NAME,
    FINAL_NAME,
    MANIFEST_NAME,
    MARKER_NAME,
    TEMPORARY_PREFIX,
    explained_disk_errors,
    make_folder_durably,
    remove_leftovers,
    write_text_atomic,
)
from spanwise.runtime.lock import LOCK_NAME, folder_lock, held_here
from spanwise.runtime.progress import METRICS_NAME
from spanwise.training.plan import PLAN_NAME


@dataclass(frozen=True)
class RunFolder:
    """Paths inside one run folder."""

    path: Path

    @property
    def marker(self) -> Path:
        return self.path / MARKER_NAME

    @property
    def checkpoints(self) -> Path:
        return self.path / CHECKPOINTS_NAME

    @property
    def final(self) -> Path:
        return self.path / FINAL_NAME

    @property
    def plan(self) -> Path:
        return self.path / PLAN_NAME

    @property
    def metrics(self) -> Path:
        return self.path / METRICS_NAME

    @property
    def state(self) -> Literal["new", "begun", "finished"]:
        """Return whether the folder is empty, holds a run, or holds a finished one."""
        if (self.final / MANIFEST_NAME).exists():
            return "finished"
        return "begun" if self.marker.exists() else "new"

    def holds_work(self, names: Iterable[str]) -> bool:
        """Return whether something that took time is there: a plan, a log, or any folder. Records of a call that was
        refused before its first step are not."""
        return bool({PLAN_NAME, METRICS_NAME} & set(names)) or any((self.path / name).is_dir() for name in names)


@contextlib.contextmanager
def claim_run_folder(folder: str | Path, *, resume: bool = False) -> Iterator[RunFolder]:
    """Lock a run folder and check that it may be written: it is empty, or it is a run and `resume` is set.

    Call it before the first file is written; blocks of one process may nest, and only the outermost checks. Leftovers
    of processes that died are removed.
    Raises: FolderInUseError where another run holds it; ConfigError where it is not empty.
    """
    run = RunFolder(Path(folder))
    if run.path.exists() and not run.path.is_dir():
        raise ConfigError(f"{run.path} is a file; give a folder for the run.")
    if held_here(run.path):
        yield run
        return
    _refuse_other_things(run)  # before a lock lies there
    with explained_disk_errors(run.path):
        make_folder_durably(run.path)  # the lock would make it, but leave its name to chance
    with folder_lock(run.path):
        _check(run, resume)
        remove_leftovers(run.path)
        if run.checkpoints.is_dir():
            remove_leftovers(run.checkpoints)
        if not run.marker.exists():
            write_text_atomic(run.marker, json.dumps({"format": "spanwise run", "version": 1}) + "\n")
        yield run


def _found_in(run: RunFolder) -> list[str]:
    names = (path.name for path in run.path.iterdir()) if run.path.is_dir() else iter(())
    return sorted(name for name in names if name != LOCK_NAME and not name.startswith(TEMPORARY_PREFIX))


def _refuse_other_things(run: RunFolder) -> None:
    found = _found_in(run)
    if found and run.state == "new":
        raise ConfigError(
            f"{run.path} is not empty ({', '.join(found[:3])}) and holds no run of ours; "
            "give a new folder, or empty this one."
        )


def _check(run: RunFolder, resume: bool) -> None:
    found = _found_in(run)
    if not found:
        return
    _refuse_other_things(run)
    if resume or not run.holds_work(found):
        return
    if run.state == "finished":
        raise ConfigError(f"{run.path} holds a finished run; its model is in {run.final}. Give a new folder.")
    raise ConfigError(f"{run.path} holds a run that has not finished; add --resume to go on, or give a new folder.")
