"""The one way to files that lie elsewhere (s3://, gs://, hdfs://, hf://datasets/..., http://, memory://), by fsspec.

`path_of` turns a name into a path; where the name has a protocol it is a `RemotePath`, which text is read from as from
any other. fsspec comes with torch, hf:// with huggingface_hub; s3:// needs `pip install s3fs`, gs:// `gcsfs`.
"""

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path, PosixPath
from typing import TYPE_CHECKING, Any

from spanwise.errors import ConfigError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_PROTOCOL = re.compile(r"([a-z][a-z0-9+.-]+):/(?:$|/*[^/])")  # Path("s3://a") is s3:/a, which is understood too
_BUFFER_BYTES = 1 << 20


class RemotePath(PosixPath):
    """A file or folder of a remote system: what of a `Path` is needed to find and read text. Written by its name."""

    __slots__ = ()

    def __str__(self) -> str:
        protocol, _, rest = super().__str__().partition(":/")
        return f"{protocol}://{'/' if protocol == 'file' else ''}{rest.lstrip('/')}"

    def at(self) -> "tuple[AbstractFileSystem, str]":
        """Return the file system and the path in it. Raises: ConfigError where its package is not installed."""
        import fsspec

        try:
            return fsspec.core.url_to_fs(str(self))
        except (ImportError, ValueError) as cause:
            raise ConfigError(f"{self} cannot be reached: {cause}") from cause

    def beside(self, place: str) -> "RemotePath":
        """Return the path of what this path's file system calls `place`."""
        return RemotePath(f"{self.parts[0]}//{place.lstrip('/')}")

    def exists(self, **_: Any) -> bool:
        system, place = self.at()
        return system.exists(place)

    def is_dir(self, **_: Any) -> bool:
        system, place = self.at()
        return system.isdir(place)

    def is_file(self, **_: Any) -> bool:
        system, place = self.at()
        return system.isfile(place)

    def resolve(self, strict: bool = False) -> "RemotePath":
        return self

    def stat(self, **_: Any) -> os.stat_result:
        """Return a result that says the size and nothing else."""
        system, place = self.at()
        return os.stat_result((0, 0, 0, 0, 0, 0, system.size(place) or 0, 0, 0, 0))

    def open_bytes(self) -> io.BufferedReader:
        """Open for reading, in blocks. Raises: OSError."""
        system, place = self.at()
        return io.BufferedReader(system.open(place, "rb"), _BUFFER_BYTES)

    def files_under(self) -> Iterator["RemotePath"]:
        """The files below this folder, at any depth, sorted."""
        system, place = self.at()
        yield from map(self.beside, sorted(system.find(place)))

    def matches(self) -> list["RemotePath"]:
        """The files that this path stands for, read as a glob, sorted."""
        system, place = self.at()
        return [self.beside(found) for found in sorted(system.glob(place)) if system.isfile(found)]


def path_of(name: str | Path) -> Path:
    """Return the path of a name; a `RemotePath` where it begins with a protocol that fsspec knows."""
    if isinstance(name, RemotePath) or not (match := _PROTOCOL.match(str(name))):
        return Path(name) if isinstance(name, str) else name
    import fsspec

    known = match[1] in fsspec.available_protocols() or match[1] in fsspec.registry  # those, and a program's own
    return RemotePath(name) if known else Path(name)


def open_bytes_of(path: Path) -> io.BufferedReader:
    """Open a file, here or elsewhere, for reading bytes. Raises: OSError; ConfigError as `RemotePath.at`."""
    return path.open_bytes() if isinstance(path, RemotePath) else open(path, "rb")
