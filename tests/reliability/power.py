"""Simulated power loss: at every file operation of real saves, every fate of what no fsync has made certain.

The real loop trains the toy model through a disk that remembers in memory what has reached the platter
(`tests/runtime/crash_disk.py`). After each operation a sample of the disks that the machine could find after a power
cut is laid out in a folder, where the package's own code recovers. A checkpoint that was acknowledged must be found,
with the right bytes; a sample of states is also trained to the end, with the same weights and the same log.
"""

import contextlib
import inspect
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.reliability.disk import WatchedDisk, disk_of
from tests.reliability.figure import Figure
from tests.reliability.toy_run import STEPS, result_of, train_toy
from tests.runtime.crash_disk import CrashDisk, File, Folder

from spanwise.errors import CheckpointError, SpanwiseError
from spanwise.runtime import files
from spanwise.training import checkpoint
from spanwise.training.checkpoint import newest_checkpoint


@dataclass
class State:
    """A disk that a machine may find, and what it had promised by then."""

    after: str
    acknowledged: int  # steps of the newest save that had returned
    disk: CrashDisk


@dataclass(eq=False)
class RememberedDisk(WatchedDisk):
    """The real disk, with a second one in memory that knows what is certain."""

    base: Path
    chance: random.Random
    per_operation: int
    keeps: Callable[[str, Path], bool] = lambda operation, path: True  # a fsync that it says no to never happens
    memory: CrashDisk = field(default_factory=CrashDisk)
    states: list[State] = field(default_factory=list)
    seen: set[tuple[int, str]] = field(default_factory=set)
    acknowledged: int = 0
    whole: dict[str, dict[str, bytes]] = field(default_factory=dict)  # every checkpoint as it was written

    def __post_init__(self) -> None:
        for folder in (*reversed(self.base.parents), self.base):
            if folder != Path("/"):
                self.memory.make_folder(folder)
                self.memory.fsync_folder(folder.parent)

    def after(self, operation: str, path: Path, target: Path | None = None) -> None:
        path = Path(os.path.abspath(path))
        if self.base not in (path, *path.parents):
            return
        memory = self.memory
        if operation == "make_folder":
            memory.make_folder(path)
        elif operation == "write":
            memory.write_file(path, path.read_bytes())
        elif operation == "rename":
            assert target is not None
            memory.rename(path, Path(os.path.abspath(target)))
        elif operation == "remove":
            memory.remove_file(path)
        elif self.keeps(operation, path):
            getattr(memory, operation)(path)
        self.look(f"{operation} {path.name}")

    def look(self, after: str) -> None:
        """Keep some of the disks that a power cut in this moment could leave. None is kept twice."""
        wanted = len(self.states) + self.per_operation
        for disk in self.memory.sampled_states(self.chance, 2 * self.per_operation):
            known = (self.acknowledged, disk.fingerprint())
            if known not in self.seen and len(self.states) < wanted:
                self.seen.add(known)
                self.states.append(State(after, self.acknowledged, disk))


def lay_out(node: Folder, folder: Path) -> None:
    """Write a remembered folder to a real one."""
    folder.mkdir()
    for name, inner in node.names.items():
        if isinstance(inner, File):
            (folder / name).write_bytes(inner.content)
        else:
            lay_out(inner, folder / name)


def states_of_saves(base: Path, seed: int, per_operation: int, **how: Any) -> RememberedDisk:
    """Train the toy model with three saves in `base`/run, and give every state that was sampled."""
    with disk_of(RememberedDisk(base, random.Random(seed), per_operation, **how)) as disk, _acknowledging(disk):
        train_toy(base / "run")
        disk.look("the end")
        found = RememberedDisk.__new__(RememberedDisk)
        found.__dict__.update(vars(disk))
    return found


@contextlib.contextmanager
def _acknowledging(disk: Any) -> Iterator[None]:
    """Tell the disk of each save that has returned."""
    real = checkpoint.save_checkpoint

    def save(folder: Path, step: int, *rest: Any, **more: Any) -> Path:
        written = real(folder, step, *rest, **more)
        disk.acknowledged = step
        disk.whole[written.name] = contents(written)
        return written

    with _replaced(checkpoint, "save_checkpoint", save):
        yield


@contextlib.contextmanager
def _replaced(module: Any, name: str, value: Any) -> Iterator[None]:
    kept = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, kept)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def wrong_in(state: State, base: Path, found: Path, whole: dict[str, dict[str, bytes]]) -> str:
    """Recover from a state with the package's own code; what is wrong, or ""."""
    run = state.disk.root
    for part in base.parts[1:]:
        inner = run.names.get(part)
        assert isinstance(inner, Folder)
        run = inner
    lay_out(run, found)
    try:
        newest = newest_checkpoint(found / "run" / "checkpoints", lambda text: None)
    except CheckpointError as error:
        return f"unrecoverable after {state.after}: {error}" if state.acknowledged else ""
    if newest is None:
        return f"step {state.acknowledged} is lost after {state.after}" if state.acknowledged else ""
    path, record = newest
    if record["step"] < state.acknowledged:
        return f"step {state.acknowledged} was acknowledged, {record['step']} found after {state.after}"
    if contents(path) != whole[path.name]:
        return f"{path.name} was taken with wrong bytes after {state.after}"
    return ""


def losses_of_power(scratch: Path, seed: int, *, per_operation: int, resumed: int) -> Figure:
    """Every operation of three saves, and a final model; `resumed` states are trained to the end."""
    figure = Figure("power loss at each file operation of a save: 0 wrong, 0 unrecoverable")
    base, chance = scratch / "power", random.Random(seed)
    base.mkdir(parents=True)
    disk = states_of_saves(base, seed, per_operation)
    assert disk.acknowledged == STEPS and len(disk.whole) == STEPS // 2
    wanted = result_of(base / "run")
    again = set(chance.sample(range(len(disk.states)), min(resumed, len(disk.states))))
    for number, state in enumerate(disk.states):
        found = scratch / f"found-{number}"
        wrong = wrong_in(state, base, found, disk.whole)
        if number in again and not wrong:
            try:
                train_toy(found / "run", resume=True)
                wrong = "" if result_of(found / "run") == wanted else f"another end after {state.after}"
            except SpanwiseError as error:
                wrong = f"can't go on after {state.after}: {error}"
        figure.check(not wrong, wrong)
        files.DISK.remove_tree(found)
    figure.facts = {"operations": disk.memory.num_done, "trained_to_the_end": len(again)}
    return figure


def _without_fsync(*names: str, operation: str = "fsync_file") -> Callable[[str, Path], bool]:
    return lambda asked, path: not (asked == operation and (not names or any(name in path.name for name in names)))


def _changed(function: Any, *changes: tuple[str, str]) -> Any:
    """A function of the package with lines of its source replaced."""
    source = inspect.getsource(function)
    for old, new in changes:
        assert source.count(old) == 1, f"{function.__name__} has no longer the line {old!r}"
        source = source.replace(old, new)
    space = dict(vars(inspect.getmodule(function)))
    exec(compile(source, function.__name__, "exec"), space)
    return space[function.__name__]


RENAME = "    fs.rename(temporary, target)\n"
FIRST = "    names = [name for name in fs.files_under(temporary) if name != MANIFEST_NAME]\n"
RETIRE = "    for _, old in step_folders(folder)[num_later + keep :]:\n        remove_folder(old)\n"
BEGIN = '    with atomic_folder(target, existing="replace") as temporary:\n'
WEAKER: dict[str, tuple[dict[str, Any], list[tuple[Any, str, Any]]]] = {
    "no file is forced to the disk": ({"keeps": _without_fsync()}, []),
    "the manifest isn't": ({"keeps": _without_fsync("manifest.json")}, []),
    "the weights aren't": ({"keeps": _without_fsync("optimizer.safetensors")}, []),
    "the folder of checkpoints isn't": ({"keeps": _without_fsync("checkpoints", operation="fsync_folder")}, []),
    "the new folder's names aren't": ({"keeps": _without_fsync(".tmp-", operation="fsync_folder")}, []),
    "the names inside training/ aren't": ({"keeps": _without_fsync("training", operation="fsync_folder")}, []),
    "the name comes before the content, and names are trusted": (
        {},
        [(files, "commit_folder", lambda: _changed(
            files.commit_folder,
            (RENAME, ""),
            (FIRST, RENAME + "    fs.fsync_folder(target.parent)\n    temporary = target\n" + FIRST),
            ("    if fs.exists(target):\n", "    if False:\n"),
        )), (checkpoint, "verify_folder", lambda: lambda folder: None)],
    ),
    "old ones go before the new one is whole": (
        {},
        [(checkpoint, "save_checkpoint", lambda: _changed(
            checkpoint.save_checkpoint,
            (RETIRE, ""),
            (BEGIN, "    for _, old in step_folders(folder):\n        remove_folder(old)\n" + BEGIN),
        ))],
    ),
    "what is found isn't verified": (
        {"keeps": _without_fsync("optimizer.safetensors")},
        [(checkpoint, "verify_folder", lambda: lambda folder: None)],
    ),
}  # fmt: skip


def weaker_protocols(scratch: Path, seed: int, *, per_operation: int = 4, only: int | None = None) -> Figure:
    """Each way to do less is caught by the same recovery: it loses a checkpoint, or takes a wrong one."""
    figure = Figure("each weaker protocol is caught")
    scratch.mkdir(exist_ok=True)
    chosen = random.Random(seed).sample(list(WEAKER), only or len(WEAKER))
    for place, name in enumerate(chosen):
        how, changes = WEAKER[name]
        base = scratch / f"weaker-{place}"
        base.mkdir()
        with contextlib.ExitStack() as stack:
            for module, function, make in changes:
                stack.enter_context(_replaced(module, function, make()))
            disk = states_of_saves(base, seed, per_operation, **how)
            random.Random(seed).shuffle(disk.states)
            caught = ""
            for number, state in enumerate(disk.states):
                found = base / f"found-{number}"
                caught = caught or wrong_in(state, base, found, disk.whole)
                files.DISK.remove_tree(found)
                if caught:
                    break
        figure.check(bool(caught), f"not caught: {name}")
    return figure
