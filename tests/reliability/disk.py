"""Disks that are told of every operation before and after it happens: to fail it, to cut it short, or to remember it.

`disk_of(WatchedDisk())` puts one in place of the real disk for a block: all writers of the package then go through it,
as `test_layer.py` shows.
"""

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from spanwise.runtime.disk import DISK, DiskFileSystem


class WatchedDisk(DiskFileSystem):
    """The real disk; subclasses say what happens `before` and `after` each operation."""

    def before(self, operation: str, path: Path) -> int | None:
        """May raise OSError; a number is how many bytes of a write reach the disk."""

    def after(self, operation: str, path: Path, target: Path | None = None) -> None:
        """The operation has happened."""

    def make_folder(self, path: Path) -> None:
        self.before("make_folder", path)
        super().make_folder(path)
        self.after("make_folder", path)

    def make_folders(self, path: Path) -> None:
        for folder in (*reversed(Path(os.path.abspath(path)).parents), Path(os.path.abspath(path))):
            if not folder.is_dir():
                self.make_folder(folder)

    def write_file(self, path: Path, content: bytes) -> None:
        taken = self.before("write", path)
        super().write_file(path, content[:taken])
        self.after("write", path)
        if taken is not None:  # Python's own file asks again for the rest, and hears why there was less
            raise OSError(28, os.strerror(28), str(path))

    def write_by_name(self, path: Path, write: Callable[[Path], object]) -> None:
        taken = self.before("write", path)
        super().write_by_name(path, write)
        if taken is not None:
            os.truncate(path, taken)
        self.after("write", path)
        if taken is not None:
            raise RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)")

    def open_to_write(self, path: Path) -> Any:
        self.before("open", path)
        file = _WatchedFile(self, path, "wb")
        self.after("write", path)
        return io.BufferedWriter(file)

    def open_to_append(self, path: Path) -> Any:
        self.before("open", path)
        file = _WatchedFile(self, path, "ab")
        self.after("write", path)
        return file

    def fsync_open(self, file: IO[Any] | io.RawIOBase) -> None:
        file.flush()
        path = Path(os.readlink(f"/proc/self/fd/{file.fileno()}"))
        self.before("fsync_file", path)
        super().fsync_open(file)
        self.after("fsync_file", path)

    def fsync_file(self, path: Path) -> None:
        self.before("fsync_file", path)
        super().fsync_file(path)
        self.after("fsync_file", path)

    def fsync_folder(self, path: Path) -> None:
        self.before("fsync_folder", path)
        super().fsync_folder(path)
        self.after("fsync_folder", path)

    def rename(self, source: Path, target: Path) -> None:
        self.before("rename", source)
        super().rename(source, target)
        self.after("rename", source, target)

    def replace(self, source: Path, target: Path) -> None:
        self.before("rename", source)
        super().replace(source, target)
        self.after("rename", source, target)

    def remove_file(self, path: Path) -> None:
        self.before("remove", path)
        super().remove_file(path)
        self.after("remove", path)

    def remove_tree(self, path: Path) -> None:
        """One file after the other, so that each can be the last that happens."""
        for inner in sorted(path.iterdir()):
            if inner.is_dir():
                self.remove_tree(inner)
            else:
                self.remove_file(inner)
        self.before("remove", path)
        os.rmdir(path)
        self.after("remove", path)

    def copy_tree(self, source: Path, target: Path) -> None:
        self.make_folders(target)
        for inner in sorted(source.iterdir()):
            if inner.is_dir():
                self.copy_tree(inner, target / inner.name)
            else:
                self.write_file(target / inner.name, inner.read_bytes())


class _WatchedFile(io.RawIOBase):
    """An open file whose every write is an operation of its disk."""

    def __init__(self, disk: WatchedDisk, path: Path, mode: str) -> None:
        self._disk, self._path = disk, Path(os.path.abspath(path))
        self._file = open(path, mode, buffering=0)  # noqa: SIM115  closed by `close`

    def write(self, content: Any) -> int:
        taken = self._disk.before("write", self._path)
        written = self._file.write(bytes(content)[:taken])
        self._disk.after("write", self._path)
        return written or 0

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._file.close()


@contextlib.contextmanager
def disk_of(disk: WatchedDisk) -> Iterator[WatchedDisk]:
    """Let the package write through `disk` while the block runs: `DISK` itself, which every function holds already,
    becomes one of its kind."""
    kept = dict(DISK.__dict__)
    patched = kept.keys() & set(dir(DiskFileSystem))
    assert not patched, f"a test left {patched} of DISK replaced, which would not be watched"
    DISK.__class__ = type(disk)
    DISK.__dict__.update(vars(disk))
    try:
        yield DISK  # type: ignore[misc]
    finally:
        DISK.__class__ = DiskFileSystem
        DISK.__dict__.clear()
        DISK.__dict__.update(kept)
