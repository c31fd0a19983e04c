"""The labelled files that a run learns from: read one by one, joined, and named in the run's record.

A record of several files numbers them, so that a resume names the one that changed: a list that is longer, shorter, or
in another order is another run.
"""

import hashlib
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path

from spanwise.errors import ConfigError
from spanwise.runtime.files import sha256_of
from spanwise.tasks.base import D, F, O, P, Task
from spanwise.tasks.files.guess import read_data
from spanwise.tasks.files.text import OnError
from spanwise.weights.learned_from import Learned, Origin, origins_of

Files = str | Path | Sequence[str | Path]  # one file, or several


@dataclass(frozen=True)
class TrainingFiles:
    """Files (or folders of them) to learn from, where each comes from, and files whose texts must not be learned."""

    paths: tuple[Path, ...]
    origins: tuple[Origin, ...]
    not_from: tuple[Path, ...] = ()

    @classmethod
    def given(cls, train: Files, not_from: Files = (), origins: Sequence[Origin] = ()) -> "TrainingFiles":
        """Origins are none, one for all files, or one for each.

        Raises: ConfigError where there is no file to learn from, one is named twice, or origins are of another number.
        """
        paths = _paths(train)
        if not paths:
            raise ConfigError("there is no training file; name at least one.")
        twice = next((path for number, path in enumerate(paths) if path in paths[:number]), None)
        if twice is not None:
            raise ConfigError(f"the training file {twice} is named twice; name it once.")
        return cls(paths, tuple(origins_of(origins, len(paths), "training files")), _paths(not_from))

    def read(
        self, name: str, task: Task[D, F, O, P], errors: OnError, say: Callable[[str], None]
    ) -> tuple[D, list[Learned]]:
        """Return what the task reads from all files, in their order, and each file with the number of its examples;
        `say` gets what was left out.

        Raises: DataError naming the file; ConfigError where the task can't join files, or leave texts out.
        """
        parts = [read_data(name, task, path, purpose="train", errors=errors) for path in self.paths]
        if self.not_from:
            parts, lines = task.without(parts, self.not_from)
            for line in lines:
                say(line)
        learned = [
            Learned(
                file=origin.file or path.name,
                what=name,
                source=origin.source,
                licence=origin.licence,
                count=len(part) if isinstance(part, Sized) else None,
                unit=task.example_name if isinstance(part, Sized) else "",
            )
            for path, origin, part in zip(self.paths, self.origins, parts, strict=True)
        ]
        return parts[0] if len(parts) == 1 else task.joined(parts), learned

    def record(self) -> dict[str, object]:
        """Return the names of the files, for the record of a model."""
        train: object = str(self.paths[0]) if len(self.paths) == 1 else list(map(str, self.paths))
        return {"train": train, **({"not_from": list(map(str, self.not_from))} if self.not_from else {})}

    def identity(self) -> dict[str, object]:
        """Return what a run that goes on must share: the hash of the one file, or name and hash of each by number."""
        train: object = hash_file(self.paths[0]) if len(self.paths) == 1 else _numbered(self.paths)
        return {"train": train, **({"not_from": _numbered(self.not_from)} if self.not_from else {})}


def hash_file(path: Path) -> str:
    """Return the hash of a file's content, or of the names and contents of all files in a folder."""
    if not path.is_dir():
        return sha256_of(path)
    digest = hashlib.sha256()
    for part in sorted(part for part in path.rglob("*") if part.is_file()):
        digest.update(f"{part.relative_to(path).as_posix()} {hash_file(part)}\n".encode())
    return digest.hexdigest()


def _paths(given: Files) -> tuple[Path, ...]:
    return (Path(given),) if isinstance(given, str | Path) else tuple(map(Path, given))


def _numbered(paths: Sequence[Path]) -> dict[str, str]:
    return {str(number): f"{path.name} {hash_file(path)}" for number, path in enumerate(paths, start=1)}
