"""Committed folders elsewhere: copied here file by file and believed only by their manifest's SHA-256.

The manifest is the last file of a copy in either direction, so a copy that was cut short is never taken for whole.
"""

import hashlib
import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from spanwise.errors import DataError, SpanwiseError
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import MANIFEST_NAME, JsonObject, parse_manifest, write_atomic
from spanwise.runtime.lock import try_lock
from spanwise.runtime.remote.paths import RemotePath, open_bytes_of

CACHE = "SPANWISE_CACHE"  # the folder that copies are kept in; by default spanwise in the user's cache folder
_BLOCK_BYTES = 1 << 22


def local_copy(remote: RemotePath) -> Path:
    """Return a folder of this machine with what a committed folder elsewhere holds.

    Copies are named by their manifest's hash: one that stands is used again, one that was cut goes on with the file
    that is missing, and a folder that changed there is copied anew. Processes that ask at once wait for one of them.
    Raises: DataError where there is no manifest, or a file isn't what it says; ConfigError as `RemotePath.at`.
    """
    manifest = read_file(remote / MANIFEST_NAME, DataError)
    files = parse_manifest(manifest, remote / MANIFEST_NAME, DataError)
    target = cache_folder() / f"{remote.name}-{hashlib.sha256(manifest).hexdigest()[:16]}"
    DISK.make_folders(target)
    while (held := try_lock(target)) is None:
        time.sleep(0.2)
    try:
        if not DISK.exists(target / MANIFEST_NAME):
            for name, expected in files.items():
                fetch_file(remote / name, target / name, expected, DataError)
            write_atomic(target / MANIFEST_NAME, partial(DISK.write_file, content=manifest))
    finally:
        os.close(held)
    return target


def cache_folder() -> Path:
    """Return where copies are kept. Nothing is removed from it but by its owner."""
    if CACHE in os.environ:
        return Path(os.environ[CACHE])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spanwise"


def read_file(file: RemotePath, error: type[SpanwiseError]) -> bytes:
    """Return a small file's bytes. Raises: `error` where it isn't there or cannot be read."""
    try:
        return b"".join(_blocks(file, error))
    except FileNotFoundError:
        raise error(f"{file} does not exist: the folder was never finished, or isn't one of ours.") from None


def fetch_file(file: RemotePath, target: Path, expected: JsonObject, error: type[SpanwiseError]) -> None:
    """Copy one file, which gets its name only when its bytes are those of the manifest."""
    if DISK.exists(target):
        return

    def write(place: Path) -> None:
        digest = hashlib.sha256()
        with DISK.open_to_write(place) as copy:
            for block in _blocks(file, error):
                digest.update(block)
                copy.write(block)
        if digest.hexdigest() != expected["sha256"]:
            raise error(f"{file} is not what {MANIFEST_NAME} beside it says; the copy was thrown away. Try again.")

    try:
        write_atomic(target, write)
    except FileNotFoundError:
        raise error(f"{file} is missing; {MANIFEST_NAME} beside it lists it.") from None


def _blocks(file: RemotePath, error: type[SpanwiseError]) -> Iterator[bytes]:
    """Read a file. Raises: FileNotFoundError; `error` for whatever else its file system reports."""
    try:
        with open_bytes_of(file) as opened:
            while block := opened.read(_BLOCK_BYTES):
                yield block
    except (FileNotFoundError, SpanwiseError):
        raise
    except Exception as cause:  # file systems raise errors of their own, and not of the disk here
        raise error(f"{file} cannot be read: {cause}.") from cause
