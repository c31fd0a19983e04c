"""A run kept elsewhere too: each checkpoint is sent to an address once it is committed here, and the model at the end.

What lies where at the address, and how it comes back, is told in `fetch.py`. A thread looks at the run folder, so no
step waits for it. All files of a checkpoint are opened before the first is sent: one that is retired here meanwhile
stays readable, and arrives whole. There is one upload at a time, and of checkpoints that wait only the newest is sent.
"""

import contextlib
import hashlib
import io
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from spanwise.errors import SpanwiseError
from spanwise.runtime.files import (
    BEST_NAME,
    CHECKPOINTS_NAME,
    FINAL_NAME,
    MANIFEST_NAME,
    MARKER_NAME,
    TEMPORARY_PREFIX,
    manifest_bytes,
    parse_manifest,
)
from spanwise.runtime.remote.fetch import RECORDS_NAME, in_words, remote_of, steps_at, steps_in
from spanwise.runtime.remote.paths import RemotePath

SECONDS = 2.0  # between two looks at the run folder
_BLOCK_BYTES = 1 << 22
_LOOKS, _SECONDS_BETWEEN_LOOKS = 5, 0.05  # at best weights, which are missing for a moment while they are replaced
_RECORDS = (".json", ".jsonl")  # how the small files end that lie in the run folder itself
Opened = dict[str, IO[bytes]]  # the files of a folder, by their names in it; the manifest last


@contextlib.contextmanager
def kept_elsewhere(folder: str | Path, address: str | None, *, say: Callable[[str], None] = print) -> Iterator[None]:
    """Keep the run in `folder` at `address` (s3://..., gs://..., hdfs://...) too, while the block trains it.

    Use it within the claim of the run folder (by one process of several), after `fetch_lost_run`. An upload that fails
    is told through `say` and tried again with the next checkpoint; training never waits for one. When the block ends,
    what is still to be sent is sent, and waited for. address: None does nothing.
    Raises: ConfigError where `address` is no address; SpanwiseError at the end where the block went well and something
    of its result is not at the address.
    """
    if address is None:
        yield
        return
    upload = _Upload(Path(folder), remote_of(address), say)
    upload.start()
    try:
        yield
    except BaseException:
        upload.finish()
        raise
    upload.finish()
    if upload.missing:
        causes = "; ".join(f"{name} ({cause})" for name, cause in upload.missing.items())
        raise SpanwiseError(
            f"the run is whole in {folder}, but not at {upload.remote}, which lacks {causes}. The same command with "
            "--resume sends it again."
        )


class _Upload(threading.Thread):
    """Looks at the run folder every `SECONDS`, and sends the newest checkpoint that is not at the address yet."""

    def __init__(self, here: Path, remote: RemotePath, say: Callable[[str], None]) -> None:
        super().__init__(name="upload", daemon=True)
        self.here, self.remote, self.say = here, remote, say
        self.missing: dict[str, str] = {}  # what could not be sent, and why
        self._is_over = threading.Event()
        self._sent = ""  # the newest checkpoint that is there
        self._tried = ""  # the one that was tried last
        self._has_sent = False  # a checkpoint, in this process
        self._has_best = (here / BEST_NAME).exists()

    def run(self) -> None:
        while not self._is_over.wait(SECONDS):
            self._send_checkpoint()

    def finish(self) -> None:
        """Send what is still to be sent, and come back then."""
        self._is_over.set()
        self.join(SECONDS)
        if self.is_alive():
            self.say(f"Waiting for the upload to {self.remote}.")
            self.join()
        with self._told(FINAL_NAME), contextlib.ExitStack() as stack:
            self._send_final(stack)
        self._tried = ""  # a last attempt, whatever came of the one before
        self._send_checkpoint(is_last=True)
        if self._has_sent:
            self._retire()

    @contextlib.contextmanager
    def _told(self, name: str, what_next: str = "") -> Iterator[None]:
        """A block that sends something; no error of it may end the training, and all are told and remembered."""
        try:
            yield
        except Exception as cause:  # file systems raise errors of their own
            self.missing[name] = in_words(cause)
            self.say(f"The upload of {name} to {self.remote} failed: {self.missing[name]}{what_next}.")

    def _send_checkpoint(self, *, is_last: bool = False) -> None:
        name = max(steps_in(self.here), default="")
        if not name or name in (self._sent, self._tried):
            return
        self._tried = name
        what_next = "" if is_last else "; the next checkpoint is tried again"
        with self._told(f"{CHECKPOINTS_NAME}/{name}", what_next), contextlib.ExitStack() as stack:
            self._send_step(name, stack)

    def _send_step(self, name: str, stack: contextlib.ExitStack) -> None:
        """Send a checkpoint after what belongs to it, which is opened after it and so never older."""
        place = f"{CHECKPOINTS_NAME}/{name}"
        checkpoint = self._open(place, stack)
        if checkpoint is None:  # retired before it was opened: a newer one stands there
            return
        if not self._is_there(place, checkpoint):
            best, records = self._open_best(stack), self._read_records()
            self._withdraw(self.remote / place)
            self._mark()
            self._send(f"{RECORDS_NAME}/{name}", records)
            if best is not None:
                self._send(f"{BEST_NAME}/{name}", best)
            self._send(place, checkpoint)
            self._has_sent = True
        self._sent = name
        for older in [sent for sent in self.missing if sent.startswith(CHECKPOINTS_NAME)]:
            del self.missing[older]
        if self._has_sent:
            self._retire()

    def _send_final(self, stack: contextlib.ExitStack) -> None:
        final = self._open(FINAL_NAME, stack)
        if final is None or self._is_there(FINAL_NAME, final):
            return
        self._withdraw(self.remote / FINAL_NAME)
        self._mark()
        self._send(f"{RECORDS_NAME}/{FINAL_NAME}", self._read_records())
        self._send(FINAL_NAME, final)

    def _open(self, name: str, stack: contextlib.ExitStack) -> Opened | None:
        """Open all files of a committed folder; None where it is not there, or another takes its place right now."""
        folder = self.here / name
        try:
            manifest = stack.enter_context((folder / MANIFEST_NAME).open("rb"))
            files = parse_manifest(manifest.read(), folder / MANIFEST_NAME)
            opened = {file: stack.enter_context((folder / file).open("rb")) for file in files}
            is_one = os.path.samestat(os.fstat(manifest.fileno()), (folder / MANIFEST_NAME).stat())
        except FileNotFoundError:
            return None
        return {**opened, MANIFEST_NAME: manifest} if is_one else None

    def _open_best(self, stack: contextlib.ExitStack) -> Opened | None:
        """Open the best weights; None where the run has none. Raises: OSError where they were there and aren't now."""
        for _ in range(_LOOKS):
            best = self._open(BEST_NAME, stack)
            if best is not None:
                self._has_best = True
                return best
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        if self._has_best:
            raise FileNotFoundError(f"{self.here / BEST_NAME} is not whole")
        return None

    def _read_records(self) -> Opened:
        """Read the small files of the run, and make their manifest."""
        paths = [path for path in sorted(self.here.iterdir()) if path.suffix in _RECORDS and path.is_file()]
        files = {path.name: path.read_bytes() for path in paths if not path.name.startswith(TEMPORARY_PREFIX)}
        listed = {name: {"size": len(c), "sha256": hashlib.sha256(c).hexdigest()} for name, c in files.items()}
        return {name: io.BytesIO(content) for name, content in {**files, MANIFEST_NAME: manifest_bytes(listed)}.items()}

    def _is_there(self, name: str, opened: Opened) -> bool:
        """Return whether the address has this very folder: it was fetched from there, or sent by an earlier process."""
        system, place = (self.remote / name / MANIFEST_NAME).at()
        opened[MANIFEST_NAME].seek(0)
        return system.exists(place) and system.cat_file(place) == opened[MANIFEST_NAME].read()

    def _mark(self) -> None:
        """Say at the address that a run of ours is there."""
        if not (self.remote / MARKER_NAME).exists():
            with (self.here / MARKER_NAME).open("rb") as marker:
                _send_file(self.remote / MARKER_NAME, marker)

    def _send(self, name: str, opened: Opened) -> None:
        """Send a folder, its manifest last; another one of this name is not whole any more from the first moment."""
        self._withdraw(self.remote / name)
        for file, content in opened.items():
            _send_file(self.remote / name / file, content)

    def _withdraw(self, folder: RemotePath) -> None:
        system, place = (folder / MANIFEST_NAME).at()
        if system.exists(place):
            system.rm(place)

    def _retire(self) -> None:
        """Remove checkpoints at the address that are older than the newest sent, beyond as many as are kept here."""
        try:
            sent = [step for step in steps_at(self.remote / CHECKPOINTS_NAME) if step.name <= self._sent]
            whole = [step.name for step in sent if (step / MANIFEST_NAME).exists()]
            kept = {self._sent, *whole[: len(steps_in(self.here))]}
            for name in (CHECKPOINTS_NAME, BEST_NAME, RECORDS_NAME):
                for step in steps_at(self.remote / name):
                    if step.name < self._sent and step.name not in kept:
                        self._withdraw(step)
                        system, place = step.at()
                        system.rm(place, recursive=True)
        except Exception as cause:  # as above; what is too much there spoils nothing
            self.say(f"Old checkpoints stay at {self.remote}: {in_words(cause)}.")


def _send_file(target: RemotePath, content: IO[bytes]) -> None:
    """Write one file. Raises: OSError, also where it does not have its size then."""
    system, place = target.at()
    system.makedirs(place.rpartition("/")[0], exist_ok=True)
    size = content.seek(0, os.SEEK_END)
    content.seek(0)
    with system.open(place, "wb") as file:
        shutil.copyfileobj(content, file, _BLOCK_BYTES)
    there = system.size(place)
    if there != size:
        raise OSError(f"{target} has {there:,} bytes, and {size:,} were sent")
