"""One run owns a folder: an advisory lock that the system itself drops when its owner dies.

The lock is `flock` on `<folder>/LOCK`; the file's text (host, process id, start) only tells a person who holds it and
is never taken as proof. Where the system has no `flock` (Windows) the file is still written, nothing is refused, and
`folder_lock` says so through its return value.
"""

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from spanwise.errors import FolderInUseError
from spanwise.runtime.json_text import decode_json

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

LOCK_NAME = "LOCK"
_held: dict[tuple[int, str], int] = {}  # (process, folder) -> how many blocks hold it; a forked child holds nothing


def try_lock(path: Path, flags: int = os.O_RDONLY) -> int | None:
    """Lock a file or folder without waiting: an open descriptor that holds the lock, or None where another has it."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o644)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


@contextlib.contextmanager
def folder_lock(folder: str | Path) -> Iterator[bool]:
    """Hold `folder` for this process; True where the system really enforces it. Blocks of one process may nest.

    Raises: FolderInUseError naming the owner's host, process id and start.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    key = (os.getpid(), os.path.realpath(folder))
    if _held.get(key):
        _held[key] += 1
        try:
            yield fcntl is not None
        finally:
            _held[key] -= 1
        return
    path = folder / LOCK_NAME
    descriptor = try_lock(path, os.O_RDWR | os.O_CREAT)
    if descriptor is None and fcntl is not None:
        raise FolderInUseError(
            f"{folder} is in use by another run ({_owner(path)}). Wait for it, stop it, or give another --out."
        )
    if descriptor is None:
        path.write_text(_own_text(), encoding="utf-8")
        yield False
        return
    _held[key] = 1
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, _own_text().encode(), 0)
        yield True
    finally:
        _held.pop(key, None)
        if os.getpid() == key[0]:  # a forked child shares the lock; only its owner gives it back
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, 0)
        os.close(descriptor)  # the file stays: removing it would let two owners lock two files of one name


def held_here(folder: str | Path) -> bool:
    """Return whether this process holds the lock of `folder` already."""
    return bool(_held.get((os.getpid(), os.path.realpath(folder))))


def _own_text() -> str:
    started = datetime.now().astimezone().isoformat(timespec="seconds")
    return json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "started": started})


def _owner(path: Path) -> str:
    try:
        owner = decode_json(path.read_text(encoding="utf-8"))
        return f"host {owner['host']}, process {owner['pid']}, started {owner['started']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "its owner left no name"
