"""The only layer of file operations: what the package writes, names, removes or forces to the disk goes through here.

A test that lets operation number k fail, cut a write short or take the power away does so here, for every writer at
once; `tests/reliability/test_layer.py` finds writers that go past it.
"""

import hashlib
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, BinaryIO

from spanwise.errors import SpanwiseError


class DiskFileSystem:
    """The real disk. Every method is one step of the protocol; a path is absolute or relative to the process."""

    def exists(self, path: Path) -> bool:
        return os.path.lexists(path)

    def make_folder(self, path: Path) -> None:
        os.mkdir(path)

    def make_folders(self, path: Path) -> None:
        """Make a folder and its missing parents, unless they are there."""
        os.makedirs(path, exist_ok=True)

    def files_under(self, folder: Path) -> list[str]:
        """Relative POSIX paths of all files below `folder`, sorted. Links and devices are refused."""
        found = []
        for root, folders, files in os.walk(folder):
            for name in [*files, *folders]:
                path = Path(root) / name
                if path.is_symlink() or not (path.is_file() or path.is_dir()):
                    raise SpanwiseError(f"{path} is a link or a device; a committed folder holds plain files only.")
            found += [(Path(root) / name).relative_to(folder).as_posix() for name in files]
        return sorted(found)

    def size_and_sha256(self, path: Path) -> tuple[int, str]:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return file.tell(), digest

    def read_file(self, path: Path) -> bytes:
        return Path(path).read_bytes()

    def write_file(self, path: Path, content: bytes) -> None:
        with open(path, "wb") as file:
            file.write(content)

    def fsync_file(self, path: Path) -> None:
        """Force content to the disk. A failed fsync is final: the kernel may have dropped the data."""
        with open(path, "rb+") as file:
            os.fsync(file.fileno())

    def fsync_folder(self, path: Path) -> None:
        """Force names to the disk; where the system cannot open a folder (Windows) there is nothing to do."""
        if os.name == "nt":
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        os.rename(source, target)

    def replace(self, source: Path, target: Path) -> None:
        os.replace(source, target)

    def open_to_write(self, path: Path) -> BinaryIO:
        """Open a new file for what comes in pieces; buffered, so `fsync_open` or a close is what brings errors."""
        return open(path, "wb")

    def open_to_append(self, path: Path) -> io.RawIOBase:
        """Open a file to add to. Unbuffered: what a full disk refused isn't tried again when the file is closed."""
        return open(path, "ab", buffering=0)

    def fsync_open(self, file: IO[Any] | io.RawIOBase) -> None:
        """Force what was written to an open file to the disk."""
        file.flush()
        os.fsync(file.fileno())

    def write_by_name(self, path: Path, write: Callable[[Path], object]) -> None:
        """Let a library write what stands at `path`, a file or a folder, where it takes nothing but a name."""
        write(path)

    def copy_tree(self, source: Path, target: Path) -> None:
        """Copy a folder into one that may be there."""
        shutil.copytree(source, target, dirs_exist_ok=True)

    def remove_file(self, path: Path) -> None:
        os.unlink(path)

    def remove_tree(self, path: Path) -> None:
        shutil.rmtree(path)


DISK = DiskFileSystem()


def write_whole(file: io.RawIOBase, content: bytes) -> None:
    """Write all of `content` to an unbuffered file, which may take less than it is given."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) or 0 :]
