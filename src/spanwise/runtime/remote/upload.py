"""A run kept elsewhere too: each checkpoint goes there once it stands here, and a run whose folder is lost comes back.

    run.json, plan.jsonl, ...      the small files of the run
    checkpoints/step-000001000     what a run goes on from
    best/step-000001000            the best weights until then, where a run chooses among them
    final/                         the trained model, at the end

A folder's manifest goes last and is removed first, so what was cut short is never taken for whole, and its SHA-256
decide whether a fetched file is believed. What is uploaded together is opened together, so a checkpoint that is retired
here meanwhile is still sent whole, and best weights are never older than the checkpoint that speaks of them.
"""

import contextlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

from spanwise.errors import CheckpointError, ConfigError, SpanwiseError
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import (
    BEST_NAME,
    CHECKPOINTS_NAME,
    FINAL_NAME,
    MANIFEST_NAME,
    MARKER_NAME,
    TEMPORARY_PREFIX,
    atomic_folder,
    parse_manifest,
    write_atomic,
)
from spanwise.runtime.lock import LOCK_NAME
from spanwise.runtime.remote.mirror import fetch_file, read_file
from spanwise.runtime.remote.paths import RemotePath, path_of

SECONDS = 2.0  # between two looks at the run folder
_BLOCK_BYTES = 1 << 22
Opened = dict[str, IO[bytes]]  # the files of a folder, by their names in it


@contextlib.contextmanager
def kept_elsewhere(
    folder: str | Path, address: str | None, *, resume: bool = False, say: Callable[[str], None] = print
) -> Iterator[None]:
    """Keep the run in `folder` at `address` (s3://..., gs://..., hdfs://...) too, while the block trains it.

    With `resume`, a run that is not in `folder` is fetched first: the newest checkpoint that is whole there. An upload
    that fails is told through `say` and tried again with the next checkpoint; training never waits for one. When the
    block ends, what is still to be sent is sent. address: None does nothing.
    Raises: ConfigError where `address` is no address, or holds a run and `resume` is not set; CheckpointError where a
    run there has no whole checkpoint; SpanwiseError at the end where the block went well and its result is not there.
    """
    if address is None:
        yield
        return
    remote, here = path_of(address), Path(folder)
    if not isinstance(remote, RemotePath):
        raise ConfigError(f"--upload {address} is no address; give one such as s3://bucket/run or file:///mnt/run.")
    if (remote / MARKER_NAME).exists():
        if not resume:
            raise ConfigError(f"{remote} holds a run already; go on with it by --resume, or give another address.")
        if not (here / MARKER_NAME).exists():
            _fetch_run(remote, here, say)
    upload = _Upload(here, remote, say)
    upload.start()
    try:
        yield
    except BaseException:
        upload.finish()
        raise
    upload.finish()
    if upload.failed:
        raise SpanwiseError(f"the run is whole in {here}, but not at {remote}: {upload.failed}.")


class _Upload(threading.Thread):
    """Looks at the run folder every `SECONDS`, and sends the newest checkpoint that is not there yet."""

    def __init__(self, here: Path, remote: RemotePath, say: Callable[[str], None]) -> None:
        super().__init__(name="upload", daemon=True)
        self.here, self.remote, self.say = here, remote, say
        self.failed = ""  # why the last attempt failed
        self._is_over = threading.Event()
        self._sent = ""  # the newest checkpoint that is there
        self._tried = ""  # the one that was tried last

    def run(self) -> None:
        while not self._is_over.wait(SECONDS):
            self._attempt()

    def finish(self) -> None:
        """Send what is still to be sent, and come back then."""
        self._is_over.set()
        if self.is_alive():
            self.join()
        self._tried = ""  # a last attempt, whatever came of the one before
        self._attempt(final=True)

    def _attempt(self, *, final: bool = False) -> None:
        try:
            with contextlib.ExitStack() as stack:
                self._send_newest(stack)
            if final:
                with contextlib.ExitStack() as stack:
                    self._send_final(stack)
        except Exception as cause:  # file systems raise errors of their own, and none of them may end the training
            self.failed = f"{cause or type(cause).__name__}"
            what = "" if final else "; the next checkpoint is tried again"
            self.say(f"The upload to {self.remote} failed: {self.failed}{what}.")

    def _send_newest(self, stack: contextlib.ExitStack) -> None:
        name = max(self._steps_here(), default="")
        if not name or name in (self._sent, self._tried):
            return
        checkpoint = self._open(f"{CHECKPOINTS_NAME}/{name}", stack)
        if checkpoint is None:  # retired before it was opened: a newer one stands there
            return
        self._tried = name
        if (best := self._open(BEST_NAME, stack)) is not None:
            self._send(f"{BEST_NAME}/{name}", best)
        for file in sorted(self.here.iterdir()):
            if file.is_file() and file.name != LOCK_NAME and not file.name.startswith(TEMPORARY_PREFIX):
                _send_file(self.remote / file.name, stack.enter_context(file.open("rb")))
        self._send(f"{CHECKPOINTS_NAME}/{name}", checkpoint)
        self.failed, self._sent = "", name
        self._retire()

    def _send_final(self, stack: contextlib.ExitStack) -> None:
        final = self._open(FINAL_NAME, stack)
        if final is not None:
            self._send(FINAL_NAME, final)
            self.failed = ""
        if self._sent:
            self._retire()

    def _steps_here(self) -> set[str]:
        return {path.parent.name for path in self.here.glob(f"{CHECKPOINTS_NAME}/step-*/{MANIFEST_NAME}")}

    def _open(self, name: str, stack: contextlib.ExitStack) -> Opened | None:
        """Open all files of a committed folder; None where it is not whole (any more)."""
        folder = self.here / name
        try:
            manifest = stack.enter_context((folder / MANIFEST_NAME).open("rb"))
            files = parse_manifest(manifest.read(), folder / MANIFEST_NAME)
            opened = {file: stack.enter_context((folder / file).open("rb")) for file in files}
        except FileNotFoundError:
            return None
        return {**opened, MANIFEST_NAME: manifest}

    def _send(self, name: str, opened: Opened) -> None:
        """Send a folder, its manifest last; another one of this name is not whole any more from the first moment."""
        target = self.remote / name
        system, place = (target / MANIFEST_NAME).at()
        if system.exists(place):
            if system.cat_file(place) == _bytes_of(opened):
                return  # it was fetched from there, and may be the only whole one
            system.rm(place)
        for file, content in opened.items():
            _send_file(target / file, content)

    def _retire(self) -> None:
        """Remove the checkpoints there that are no longer here, with the best weights that belong to them."""
        kept = self._steps_here() | {self._sent}
        for name in (CHECKPOINTS_NAME, BEST_NAME):
            for step in _steps_at(self.remote / name):
                if step.name not in kept:
                    system, place = step.at()
                    if system.exists(f"{place}/{MANIFEST_NAME}"):
                        system.rm(f"{place}/{MANIFEST_NAME}")
                    system.rm(place, recursive=True)


def _bytes_of(opened: Opened) -> bytes:
    opened[MANIFEST_NAME].seek(0)
    return opened[MANIFEST_NAME].read()


def _send_file(target: RemotePath, content: IO[bytes]) -> None:
    """Write one file. Raises: OSError, also where it does not have its size then."""
    system, place = target.at()
    system.makedirs(place.rpartition("/")[0], exist_ok=True)
    content.seek(0)
    with system.open(place, "wb") as file:
        shutil.copyfileobj(content, file, _BLOCK_BYTES)
    size, there = os.fstat(content.fileno()).st_size, system.size(place)
    if there != size:
        raise OSError(f"{target} has {there:,} bytes, and {size:,} were sent")


def _steps_at(remote: RemotePath) -> list[RemotePath]:
    """Return the folders there that are named by a step, the newest first."""
    system, place = remote.at()
    if not system.isdir(place):
        return []
    names = {Path(found).name for found in system.ls(place, detail=False)}
    return [remote / name for name in sorted(names, reverse=True) if name.startswith("step-")]


def _fetch_run(remote: RemotePath, here: Path, say: Callable[[str], None]) -> None:
    """Bring a run back: the newest whole checkpoint, the best weights, the small files; run.json last."""
    for step in _steps_at(remote / CHECKPOINTS_NAME):
        try:
            _fetch_folder(step, here / CHECKPOINTS_NAME / step.name)
        except CheckpointError as damage:
            say(f"{step} is not used: {damage}")
            continue
        break
    else:
        raise CheckpointError(f"{remote} holds a run without a whole checkpoint; give another address to begin anew.")
    if (remote / BEST_NAME / step.name / MANIFEST_NAME).exists():
        _fetch_folder(remote / BEST_NAME / step.name, here / BEST_NAME)
    system, place = remote.at()
    files = sorted(Path(found["name"]).name for found in system.ls(place, detail=True) if found["type"] == "file")
    for name in sorted(files, key=MARKER_NAME.__eq__):
        content = read_file(remote / name, CheckpointError)
        write_atomic(here / name, partial(DISK.write_file, content=content))
    say(f"Fetched {step.name} from {remote}.")


def _fetch_folder(remote: RemotePath, target: Path) -> None:
    """Fetch a committed folder. Raises: CheckpointError where it is not what its manifest says."""
    files = parse_manifest(read_file(remote / MANIFEST_NAME, CheckpointError), remote / MANIFEST_NAME)
    DISK.make_folders(target.parent)
    with atomic_folder(target, existing="replace") as temporary:
        for name, expected in files.items():
            DISK.make_folders((temporary / name).parent)
            fetch_file(remote / name, temporary / name, expected, CheckpointError)
