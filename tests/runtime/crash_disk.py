"""A disk in memory that can lose power after every operation, in every way a POSIX file system is allowed to.

Content is safe only after an fsync of the file, names only after an fsync of their folder. `crash_states` gives the
disks that a machine could find after a power cut: every subset of the unsafe names, with unsafe contents whole, cut in
half, zeroed or empty.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

KINDS = ("whole", "half", "zeros", "empty")  # what is left of content that no fsync has made certain
SECTOR = 64  # bytes that reach the platter together; small, as the files of the toy run are


class PowerCut(Exception):
    """The machine stopped before this operation."""


@dataclass
class File:
    content: bytes = b""
    safe: bytes | None = None  # what an fsync has made certain


Fate = Callable[[File], bytes]  # what a file holds after the power cut


@dataclass
class Folder:
    names: dict[str, File | Folder] = field(default_factory=dict)
    safe: dict[str, File | Folder] = field(default_factory=dict)
    unsafe: list[dict[str, File | Folder | None]] = field(default_factory=list)  # changes since the last fsync

    def change(self, names: dict[str, File | Folder | None]) -> None:
        self.unsafe.append(names)
        apply(self.names, names)


def apply(names: dict, change: dict) -> None:
    for name, node in change.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


class CrashDisk:
    """The operations of `DiskFileSystem`; the one numbered `stop_at` never happens."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.root = Folder()
        self.stop_at = stop_at
        self.num_done = 0

    def _tick(self) -> None:
        if self.stop_at is not None and self.num_done >= self.stop_at:
            raise PowerCut
        self.num_done += 1

    def _find(self, path: Path) -> File | Folder:
        node: File | Folder = self.root
        for part in Path(path).parts[1:]:
            if not isinstance(node, Folder) or part not in node.names:
                raise FileNotFoundError(2, "missing", str(path))
            node = node.names[part]
        return node

    def _folder(self, path: Path) -> Folder:
        node = self._find(path)
        assert isinstance(node, Folder)
        return node

    def exists(self, path: Path) -> bool:
        try:
            self._find(path)
        except FileNotFoundError:
            return False
        return True

    def names(self, path: Path) -> list[str]:
        return sorted(self._folder(path).names) if self.exists(path) else []

    def make_folder(self, path: Path) -> None:
        self._tick()
        self._folder(path.parent).change({path.name: Folder()})

    def files_under(self, folder: Path) -> list[str]:
        found = []
        for name, node in self._folder(folder).names.items():
            found += (
                [name] if isinstance(node, File) else [f"{name}/{inner}" for inner in self.files_under(folder / name)]
            )
        return sorted(found)

    def read_file(self, path: Path) -> bytes:
        node = self._find(path)
        assert isinstance(node, File)
        return node.content

    def size_and_sha256(self, path: Path) -> tuple[int, str]:
        content = self.read_file(path)
        return len(content), hashlib.sha256(content).hexdigest()

    def write_file(self, path: Path, content: bytes) -> None:
        self._tick()
        folder = self._folder(path.parent)
        node = folder.names.get(path.name)
        if not isinstance(node, File):
            node = File()
            folder.change({path.name: node})
        node.content = content

    def fsync_file(self, path: Path) -> None:
        self._tick()
        node = self._find(path)
        assert isinstance(node, File)
        node.safe = node.content

    def fsync_folder(self, path: Path) -> None:
        self._tick()
        folder = self._folder(path)
        folder.safe, folder.unsafe = dict(folder.names), []

    def rename(self, source: Path, target: Path) -> None:
        self._tick()
        assert source.parent == target.parent
        node = self._find(source)
        self._folder(source.parent).change({source.name: None, target.name: node})

    replace = rename

    def remove_file(self, path: Path) -> None:
        self._tick()
        self._folder(path.parent).change({path.name: None})

    def remove_tree(self, path: Path) -> None:
        for name, node in list(self._folder(path).names.items()):
            if isinstance(node, Folder):
                self.remove_tree(path / name)
            else:
                self.remove_file(path / name)
        self._tick()
        self._folder(path.parent).change({path.name: None})

    def crash_states(self) -> Iterator[CrashDisk]:
        """Every disk that the next start may find."""
        folders, files = _nodes(self.root)
        doubtful = [file for file in files if file.safe != file.content]
        contents = KINDS if doubtful else ("whole",)
        kept = [_subsets(len(folder.unsafe)) for folder in folders]
        for subsets in itertools.product(*kept):
            for kind in contents:
                yield self._survivor(folders, subsets, doubtful, [fate_of_kind(kind)] * len(doubtful))

    def sampled_states(self, chance: random.Random, number: int) -> Iterator[CrashDisk]:
        """So many of the disks that the next start may find, every doubtful file with a fate of its own."""
        folders, files = _nodes(self.root)
        doubtful = [file for file in files if file.safe != file.content]
        for _ in range(number):
            subsets = tuple(
                tuple(index for index in range(len(folder.unsafe)) if chance.random() < 0.5) for folder in folders
            )
            yield self._survivor(folders, subsets, doubtful, [drawn_fate(chance) for _ in doubtful])

    def _survivor(self, folders: list[Folder], subsets: tuple, doubtful: list[File], fates: list[Fate]) -> CrashDisk:
        disk = CrashDisk()
        holder = copy.deepcopy({"root": self.root, "folders": folders, "doubtful": doubtful})
        for folder, subset in zip(holder["folders"], subsets, strict=True):
            names = dict(folder.safe)
            for index in subset:
                apply(names, folder.unsafe[index])
            folder.names = names
        for file, fate in zip(holder["doubtful"], fates, strict=True):
            file.content = fate(file)
        disk.root = holder["root"]
        return disk

    def fingerprint(self) -> str:
        """A hash of every name and content: two disks that a machine can't tell apart have one."""
        digest, todo = hashlib.sha256(), [("", self.root)]
        while todo:
            path, folder = todo.pop()
            for name in sorted(folder.names):
                node = folder.names[name]
                digest.update(f"{path}/{name} {len(node.content) if isinstance(node, File) else 'folder'}\n".encode())
                if isinstance(node, File):
                    digest.update(node.content)
                else:
                    todo.append((f"{path}/{name}", node))
        return digest.hexdigest()


def _added(file: File) -> tuple[bytes, bytes]:
    """What is certain at the begin of a file, and what was added since its last fsync (all of it, if rewritten)."""
    kept = file.safe if file.safe is not None and file.content.startswith(file.safe) else b""
    return kept, file.content[len(kept) :]


def fate_of_kind(kind: str) -> Fate:
    """One of the four plain fates."""

    def fate(file: File) -> bytes:
        kept, rest = _added(file)
        return kept + {"whole": rest, "half": rest[: len(rest) // 2], "zeros": bytes(len(rest)), "empty": b""}[kind]

    return fate


def drawn_fate(chance: random.Random) -> Fate:
    """A fate by chance: a plain one, the content before, cut anywhere, zeros from anywhere, or some of the sectors."""
    kind = chance.choice((*KINDS, "before", "cut", "zeros from", "sectors"))
    place, seed = chance.random(), chance.random()

    def fate(file: File) -> bytes:
        kept, rest = _added(file)
        end = int(place * len(rest))
        if kind == "before":
            return file.safe or b""
        if kind == "cut":
            return kept + rest[:end]
        if kind == "zeros from":
            return kept + rest[:end] + bytes(len(rest) - end)
        if kind == "sectors":
            parts, keeps = (rest[begin : begin + SECTOR] for begin in range(0, len(rest), SECTOR)), random.Random(seed)
            return kept + b"".join(part if keeps.random() < 0.5 else bytes(len(part)) for part in parts)
        return fate_of_kind(kind)(file)

    return fate


def _subsets(n: int) -> list[tuple[int, ...]]:
    """All subsets of few changes; of many, the prefixes and those that lack one or keep one."""
    everything = tuple(range(n))
    if n <= 4:
        return [kept for size in range(n + 1) for kept in itertools.combinations(everything, size)]
    found = {everything[:size] for size in range(n + 1)} | {(index,) for index in everything}
    return sorted(found | {everything[:index] + everything[index + 1 :] for index in everything})


def _nodes(root: Folder) -> tuple[list[Folder], list[File]]:
    """All folders and files reachable through present or safe names, each once."""
    folders, files, seen, todo = [], [], set(), [root]
    while todo:
        node = todo.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, File):
            files.append(node)
            continue
        folders.append(node)
        todo += [*node.names.values(), *node.safe.values()]
        todo += [inner for change in node.unsafe for inner in change.values()]
    return folders, files
