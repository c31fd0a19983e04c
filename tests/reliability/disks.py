"""A disk that fails: ENOSPC, EIO, EROFS or a write cut short, at each operation of a run, of a store and of a study.

The error is one of ours and names a path; what was saved before is whole; with a good disk the run goes on to the same
weights and the same log.
"""

import errno
import os
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.reliability.disk import WatchedDisk, disk_of
from tests.reliability.figure import Figure
from tests.reliability.toy_run import result_of, train_toy

from spanwise.data.store_writer import TokenStoreWriter
from spanwise.errors import SpanwiseError
from spanwise.runtime import files
from spanwise.runtime.files import TEMPORARY_PREFIX, verify_folder
from spanwise.studies.folder import read_record, write_record
from spanwise.text.tokenizers import Tokenizer
from spanwise.training.checkpoint import step_folders

KINDS = ("ENOSPC", "EIO", "EROFS", "short")


@dataclass(eq=False)
class FailingDisk(WatchedDisk):
    """Operation number `fail_at` fails; of kind "short" only half of a write arrives, and then the disk is full."""

    fail_at: int
    kind: str
    done: int = 0
    failed: str = ""

    def before(self, operation: str, path: Path) -> int | None:
        self.done += 1
        if self.kind == "short":
            if operation != "write":
                self.done -= 1  # only writes are counted
            elif self.done - 1 == self.fail_at:
                self.failed = f"{operation} {Path(path).name}"
                return 1
        elif self.done - 1 == self.fail_at:
            self.failed = f"{operation} {Path(path).name}"
            number = getattr(errno, self.kind)
            raise OSError(number, os.strerror(number), str(path))
        return None


def attempt(work: Callable[[], object], kind: str, fail_at: int) -> tuple[str, Exception | None]:
    """Do the work on a disk that fails once: what failed ("" where the work was done first), and the error."""
    with disk_of(FailingDisk(fail_at, kind)) as disk:
        try:
            work()
        except Exception as error:
            return disk.failed, error  # type: ignore[attr-defined]
        return disk.failed, None  # type: ignore[attr-defined]


def wrong_error(error: Exception | None, failed: str) -> str:
    """What is wrong with an error; a write that was cut short may also be taken up again without one."""
    if error is None or (isinstance(error, SpanwiseError) and "/" in str(error)):
        return ""
    return f"{failed}: {type(error).__name__}: {error}"


def operations(work: Callable[[Path], object], scratch: Path, kind: str) -> int:
    """How many operations the work has."""
    with disk_of(FailingDisk(-1, kind)) as disk:
        work(scratch)
        return disk.done  # type: ignore[attr-defined, no-any-return]


def failing_disks(scratch: Path, seed: int, *, only: int | None = None) -> Figure:
    """Each operation of a run with three saves, of a store and of a study's record; or so many of them by chance."""
    figure = Figure("ENOSPC, EIO, EROFS, short writes at each write: the last checkpoint intact")
    scratch.mkdir(exist_ok=True)
    train_toy(scratch / "whole")
    wanted, chance = result_of(scratch / "whole"), random.Random(seed)
    for name, work, check in (
        ("run", lambda place: train_toy(place), lambda place: _run_goes_on(place, wanted)),
        ("store", write_store, _nothing_or_whole),
        ("record", lambda place: write_record(place / "study" / "a.json", {"a": 1}), _record_is_whole),
    ):
        cases = [(kind, place) for kind in KINDS for place in range(operations(work, scratch / f"{name}-{kind}", kind))]
        for kind, place in _some(cases, chance, only):
            folder = scratch / f"{name}-{kind}-{place}"
            failed, error = attempt(lambda: work(folder), kind, place)  # noqa: B023
            wrong = wrong_error(error, failed) or ("" if failed else "no operation failed") or check(folder)
            figure.check(not wrong, f"{name}, {kind} at {place} ({failed}): {wrong}")
            if folder.exists():
                files.DISK.remove_tree(folder)
    return figure


def _some(cases: list[tuple[str, int]], chance: random.Random, only: int | None) -> Iterable[tuple[str, int]]:
    return cases if only is None else chance.sample(cases, min(only, len(cases)))


def _run_goes_on(folder: Path, wanted: tuple[str, str, str]) -> str:
    """What was saved is whole, and with a good disk the run ends as if nothing had been."""
    damaged = []
    for _, path in step_folders(folder / "checkpoints")[:1]:
        try:
            verify_folder(path)
        except SpanwiseError as error:
            damaged.append(str(error))
    if damaged:
        return f"a checkpoint is damaged: {damaged[0]}"
    try:
        train_toy(folder, resume=True)
    except SpanwiseError as error:
        return f"can't go on: {error}"
    left = [path.name for path in folder.rglob(f"{TEMPORARY_PREFIX}*")]
    return "" if result_of(folder) == wanted and not left else f"another end ({left} left)"


def write_store(folder: Path) -> None:
    """A store of three short documents, by the tokenizer of the shipped model."""
    tokenizer = shipped_tokenizer()
    with TokenStoreWriter(folder / "store", tokenizer) as writer:
        for text in ("The old river.", "A stone bridge in town.", "Bread and fish."):
            writer.add_document([tokenizer.encode(text).ids])


def shipped_tokenizer(kept: list[Tokenizer] = []) -> Tokenizer:  # noqa: B006  read once
    """The tokenizer of the model that ships."""
    if not kept:
        kept.append(Tokenizer.load(Path(files.__file__).parents[1] / "weights" / "mini"))
    return kept[0]


def _nothing_or_whole(folder: Path) -> str:
    left = [path.name for path in folder.iterdir()] if folder.exists() else []
    if left not in ([], ["store"]):
        return f"{left} left"
    if left:
        verify_folder(folder / "store")
    return ""


def _record_is_whole(folder: Path) -> str:
    found = read_record(folder / "study" / "a.json")
    return "" if found in (None, {"a": 1}) else f"{found} was read"
