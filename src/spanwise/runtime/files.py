"""The commit protocol: a folder or file appears whole, or not at all, whatever stops the process or the machine.

A folder is written beside its target under a hidden name, every file is forced to the disk, `manifest.json` (size and
SHA-256 of each file, and its own hash) comes last, and one rename makes all of it visible. A reader trusts a folder
only after its manifest agrees. All disk operations go through `runtime/disk.py`, so that a test can replay every
possible power loss against this very code.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from spanwise.errors import CheckpointError, ConfigError, SpanwiseError
from spanwise.runtime.disk import DISK, DiskFileSystem, write_whole
from spanwise.runtime.json_text import decode_json
from spanwise.runtime.lock import try_lock

JsonObject = dict[str, Any]  # what a JSON file of ours holds
MANIFEST_NAME = "manifest.json"
TEMPORARY_PREFIX = ".tmp-"
MANIFEST_VERSION = 1
# Inside a run folder: what makes it one, what was run on what, what a run goes on from, the model that it left, and the
# best weights so far where it chooses among them, which become the final ones.
MARKER_NAME, RECIPE_NAME = "run.json", "recipe.json"
CHECKPOINTS_NAME, FINAL_NAME, BEST_NAME = "checkpoints", "final", "best"


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return DISK.size_and_sha256(path)[1]


@contextlib.contextmanager
def atomic_folder(
    target: str | Path, *, existing: Literal["refuse", "replace"] = "refuse", fs: DiskFileSystem = DISK
) -> Iterator[Path]:
    """Give an empty folder to fill; when the block ends well it becomes `target`, when it fails nothing remains.

    Raises: ConfigError where `target` exists and is to be refused; SpanwiseError where the disk is full, read-only
    or broken (the message names the path and the free space).
    """
    target = Path(os.path.abspath(target))
    if existing == "refuse" and fs.exists(target):
        raise ConfigError(f"{target} exists already. Choose another folder, or remove it first.")
    if existing == "replace" and isinstance(fs, DiskFileSystem) and (target.is_file() or target.is_symlink()):
        raise SpanwiseError(
            f"{target} is no folder, and nothing takes its place. Move it away, or choose another name."
        )
    with explained_disk_errors(target):
        make_folder_durably(target.parent, fs)
        remove_leftovers(target.parent, target.name, fs)
        temporary, held = _make_temporary(target, fs)
    try:
        with explained_disk_errors(target, temporary):
            yield temporary
            commit_folder(temporary, target, fs)
    except BaseException:
        with contextlib.suppress(OSError):
            if fs.exists(temporary):
                fs.remove_tree(temporary)
        raise
    finally:
        if held is not None:
            os.close(held)


def commit_folder(temporary: Path, target: Path, fs: DiskFileSystem = DISK) -> None:
    """Force all files of `temporary` to the disk, write its manifest and give it its final name."""
    names = [name for name in fs.files_under(temporary) if name != MANIFEST_NAME]
    files = {}
    for name in names:
        fs.fsync_file(temporary / name)
        size, digest = fs.size_and_sha256(temporary / name)
        files[name] = {"size": size, "sha256": digest}
    for folder in sorted({str(Path(name).parent) for name in names} - {"."}, reverse=True):
        for inner in (Path(folder), *Path(folder).parents[:-1]):
            fs.fsync_folder(temporary / inner)
    fs.write_file(temporary / MANIFEST_NAME, manifest_bytes(files))
    fs.fsync_file(temporary / MANIFEST_NAME)
    fs.fsync_folder(temporary)
    old = None
    if fs.exists(target):
        old = target.parent / f"{TEMPORARY_PREFIX}{target.name}-{uuid.uuid4().hex[:12]}"
        fs.rename(target, old)
    fs.rename(temporary, target)
    fs.fsync_folder(target.parent)
    if old is not None:
        fs.remove_tree(old)


def manifest_bytes(files: dict[str, dict]) -> bytes:
    """The manifest's text: one line with the list, one with that line's own hash."""
    body = json.dumps({"version": MANIFEST_VERSION, "files": files}, sort_keys=True)
    own = hashlib.sha256(body.encode()).hexdigest()
    return (json.dumps({"manifest": json.loads(body), "sha256": own}, sort_keys=True, indent=1) + "\n").encode()


def read_manifest(
    folder: str | Path, error: type[SpanwiseError] = CheckpointError, fs: DiskFileSystem = DISK
) -> dict[str, dict]:
    """The manifest's list {file: {size, sha256}}, after checking the manifest's own hash.

    Raises: `error` naming the manifest where it is missing, damaged or names a file outside the folder.
    """
    path = Path(folder) / MANIFEST_NAME
    try:
        content = fs.read_file(path)
    except FileNotFoundError:
        raise error(f"{folder} has no {MANIFEST_NAME}, so it was never finished or isn't one of our folders.") from None
    except OSError as cause:
        raise error(f"{path} cannot be read ({cause}); the folder is damaged.") from cause
    return parse_manifest(content, path, error)


def parse_manifest(content: bytes, path: Path, error: type[SpanwiseError] = CheckpointError) -> dict[str, dict]:
    """The list {file: {size, sha256}} of a manifest's bytes; `path` is for messages. Raises: as `read_manifest`."""
    try:
        record = decode_json(content)
        files = record["manifest"]["files"]
        own = hashlib.sha256(json.dumps(record["manifest"], sort_keys=True).encode()).hexdigest()
        whole = own == record["sha256"] and record["manifest"]["version"] == MANIFEST_VERSION
        whole = whole and all(isinstance(e["size"], int) and isinstance(e["sha256"], str) for e in files.values())
    except (ValueError, KeyError, TypeError, AttributeError) as cause:
        raise error(f"{path} cannot be read ({cause}); the folder is damaged.") from cause
    if not whole:
        raise error(f"{path} does not match its own hash; the folder is damaged.")
    for name in files:
        parts = name.split("/")
        if name.startswith("/") or "\\" in name or any(part in ("", ".", "..") for part in parts):
            raise error(f"{path} names {name!r}, which is not a file inside the folder.")
    return files


def verify_folder(
    folder: str | Path,
    error: type[SpanwiseError] = CheckpointError,
    *,
    read: Callable[[str], bool] = lambda name: True,
    fs: DiskFileSystem = DISK,
) -> None:
    """Compare every file with the manifest. Files the manifest does not know are left alone.

    Of files that `read` says no to only the size is compared.
    Raises: `error` naming the first file that is missing, cut, longer or different.
    """
    folder = Path(folder)
    files = read_manifest(folder, error, fs)
    for name, expected in files.items():
        path = folder / name
        if not fs.exists(path):
            raise error(f"{path} is missing; {MANIFEST_NAME} lists it. Restore it or use another folder.")
        try:
            size, digest = fs.size_and_sha256(path) if read(name) else (path.stat().st_size, expected["sha256"])
        except OSError as cause:
            raise error(f"{path} cannot be read: {cause.strerror or cause}.") from cause
        if size != expected["size"]:
            raise error(f"{path} has {size:,} bytes, {MANIFEST_NAME} says {expected['size']:,}; it is damaged.")
        if digest != expected["sha256"]:
            raise error(f"{path} has the right size but other content than {MANIFEST_NAME} says; it is damaged.")


def refuse_edited(folder: str | Path, *, is_allowed: bool = False, say: Callable[[str], None]) -> None:
    """Compare a folder that training starts from with its manifest, where it has one of ours.

    Notes for people (`*.md`) and what a checkpoint goes on from (`training/`) may be missing or different.
    Raises: CheckpointError naming every file that is missing or different; with `is_allowed` they are said instead.
    """
    folder = Path(folder)
    wrong: list[str] = []
    if _is_ours(folder) or ((folder / MANIFEST_NAME).exists() and (folder / "spanwise.json").exists()):
        try:
            listed = read_manifest(folder)
            names = [name for name in listed if not name.endswith(".md") and not name.startswith("training/")]
            wrong = [name for name in names if not (folder / name).is_file()] + edited_files(folder, names)
        except CheckpointError:
            wrong = [MANIFEST_NAME]
    if not wrong:
        return
    verb = "differs" if len(wrong) == 1 else "differ"
    found = f"{', '.join(str(folder / name) for name in sorted(wrong))} {verb} from what {MANIFEST_NAME} says"
    if not is_allowed:
        raise CheckpointError(
            f"{found}: damaged, or changed after the folder was written. Copy the folder again; if the change is "
            f"yours, add --allow-edited, or `spanwise convert {folder} NEW` writes a folder that agrees."
        )
    say(f"{found}; going on all the same, as asked.")


def edited_files(folder: str | Path, names: Iterable[str]) -> list[str]:
    """Those of `names` that are there with other content than the folder's manifest says.

    [] where there is no manifest, or a `manifest.json` of somebody else's; the manifest's own name where it is ours
    and does not match its own hash. For folders that people may edit, where `verify_folder` would be too strict.
    """
    folder = Path(folder)
    if not _is_ours(folder):
        return []
    try:
        files = read_manifest(folder)
    except CheckpointError:
        return [MANIFEST_NAME]
    listed = [name for name in names if name in files and DISK.exists(folder / name)]
    return [name for name in listed if sha256_of(folder / name) != files[name]["sha256"]]


def is_listed(folder: Path, name: str) -> bool:
    """Return whether a folder's manifest lists a file; also where the manifest is ours and damaged."""
    if not _is_ours(folder):
        return False
    try:
        return name in read_manifest(folder)
    except CheckpointError:
        return True


def _is_ours(folder: Path) -> bool:
    """Return whether a folder has a manifest of our shape, be it damaged; other projects use that name, too."""
    try:
        record = decode_json(DISK.read_file(folder / MANIFEST_NAME))
    except (OSError, ValueError):
        return False
    return isinstance(record, dict) and record.keys() == {"manifest", "sha256"}


def remove_folder(folder: Path, fs: DiskFileSystem = DISK) -> None:
    """Retire a committed folder: its manifest goes first, so that a half-deleted folder is never trusted."""
    with explained_disk_errors(folder):
        if fs.exists(folder / MANIFEST_NAME):
            fs.remove_file(folder / MANIFEST_NAME)
            fs.fsync_folder(folder)
        fs.remove_tree(folder)


def make_folder_durably(folder: Path, fs: DiskFileSystem = DISK) -> None:
    """Create `folder` and its missing parents, each forced to the disk under its own parent."""
    if fs.exists(folder):
        return
    make_folder_durably(folder.parent, fs)
    with contextlib.suppress(FileExistsError):
        fs.make_folder(folder)
    fs.fsync_folder(folder.parent)


def remove_leftovers(folder: Path, name: str = "", fs: DiskFileSystem = DISK) -> list[Path]:
    """Delete temporary folders of processes that have died; those of living ones hold a lock and stay.

    Where a target is named, only folders that would have become it are deleted. Without a name temporary files go too,
    which nothing locks: so only who holds the lock of `folder` may leave it out.
    """
    if not isinstance(fs, DiskFileSystem) or not Path(folder).is_dir():
        return []
    form = re.escape(f"{TEMPORARY_PREFIX}{name}-") + "[0-9a-f]{12}" if name else re.escape(TEMPORARY_PREFIX) + ".*"
    removed = []
    for path in sorted(Path(folder).iterdir()):
        if re.fullmatch(form, path.name, re.DOTALL) is None or path.is_symlink() or (name and path.is_file()):
            continue
        if path.is_file():
            with contextlib.suppress(FileNotFoundError):
                fs.remove_file(path)
            removed.append(path)
            continue
        held = try_lock(path)
        if held is None and os.name != "nt":
            continue
        with contextlib.suppress(OSError):
            fs.remove_tree(path)
        if held is not None:
            os.close(held)
        removed.append(path)
    return removed


def _make_temporary(target: Path, fs: DiskFileSystem) -> tuple[Path, int | None]:
    """A fresh hidden sibling of `target`, locked while this process lives."""
    while True:
        temporary = target.parent / f"{TEMPORARY_PREFIX}{target.name}-{uuid.uuid4().hex[:12]}"
        fs.make_folder(temporary)
        held = try_lock(temporary) if isinstance(fs, DiskFileSystem) and os.name != "nt" else None
        if fs.exists(temporary):  # another process may have taken it for a leftover before the lock was ours
            return temporary, held
        if held is not None:
            os.close(held)


def refuse_to_write_over(path: Path, inputs: Iterable[Path]) -> None:
    """Raises: ConfigError where `path` is one of the files that are read."""
    if path.exists() and any(one.exists() and path.samefile(one) for one in inputs):
        raise ConfigError(f"{path} is read, so nothing is written over it; name another file to write.")


def is_special(path: Path) -> bool:
    """Return whether a device, pipe or socket lies there, which no file may take the place of."""
    return path.exists() and not path.is_file() and not path.is_dir()


def refuse_special(path: Path) -> None:
    """Raises: ConfigError where a device, pipe or socket lies at the path of a file that is to be written."""
    if is_special(path):
        raise ConfigError(f"{path} is a device or pipe, and this is written as a file; name one, such as out.json.")


def write_text_atomic(path: str | Path, text: str) -> None:
    """Write or replace one file: a reader sees the old text or the new, never a part.

    Bytes of a file's name that are no UTF-8 are written as \\udcNN, which JSON reads as the same name again.
    """
    write_atomic(path, lambda place: DISK.write_file(place, text.encode(errors="backslashreplace")))


def write_atomic(path: str | Path, write: Callable[[Path], None]) -> None:
    """Write or replace one file by a function that is given a hidden name beside it; its folder is made.

    Of a link, what it leads to is replaced; a device or pipe (/dev/stdout) is never, and is given to the function.
    """
    path = Path(os.path.abspath(path))
    if is_special(path):
        with explained_disk_errors(path):
            write(path)
        return
    if path.is_symlink():
        path = Path(os.path.realpath(path))
    temporary = path.parent / f"{TEMPORARY_PREFIX}{path.name}-{uuid.uuid4().hex[:12]}"
    with explained_disk_errors(path):
        make_folder_durably(path.parent)
        try:
            write(temporary)
            DISK.fsync_file(temporary)
            DISK.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                DISK.remove_file(temporary)
            raise
        DISK.fsync_folder(path.parent)


def append_line(path: str | Path, text: str) -> None:
    """Add one line and force it to the disk. A line cut by an earlier crash is ended first, so it spoils no other."""
    path = Path(path)
    with explained_disk_errors(path):
        make_folder_durably(Path(os.path.abspath(path)).parent)
        is_cut = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
        with DISK.open_to_append(path) as file:
            write_whole(file, (b"\n" if is_cut else b"") + text.rstrip("\n").encode() + b"\n")
            DISK.fsync_open(file)


def free_bytes(path: str | Path) -> int:
    """Bytes a normal user can still write on the disk that holds `path` (or its nearest existing parent)."""
    path = Path(os.path.abspath(path))
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def require_free_space(path: str | Path, needed: int) -> None:
    """Refuse before writing where the disk cannot hold `needed` more bytes. Raises: SpanwiseError."""
    free = free_bytes(path)
    if free < needed:
        raise SpanwiseError(
            f"{path}: needs {_megabytes(needed)} but the disk has {_megabytes(free)} free. "
            "Free some space, keep fewer checkpoints, or choose a folder on another disk."
        )


_DISK_CAUSES = {
    errno.ENOSPC: "the disk is full",
    getattr(errno, "EDQUOT", -1): "the disk quota is used up",
    errno.EFBIG: "the file size limit is reached",
    errno.EIO: "the disk reports an error",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "the folder may not be written",
    errno.EPERM: "the folder may not be written",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EISDIR: "a folder stands where a file is needed",
    errno.ENOTDIR: "a file stands where a folder is needed",
    errno.ENOENT: "its folder can't be made there",
    errno.ELOOP: "its links lead in a circle",
}
# of the path, whatever space the disk has
_PATH_CAUSES = {errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR, errno.ENOENT, errno.ELOOP}


@contextlib.contextmanager
def explained_disk_errors(path: Path, written: Path | None = None) -> Iterator[None]:
    """Turn a disk error (also one reported by the safetensors library as text) into a SpanwiseError with the cure."""
    try:
        yield
    except SpanwiseError:
        raise
    except Exception as cause:
        number = _os_error_number(cause)
        if number is None:
            raise
        reason = _DISK_CAUSES.get(number, os.strerror(number))
        if number in _PATH_CAUSES:
            raise SpanwiseError(f"Cannot write {path}: {reason}. Choose another place, or check the path.") from cause
        space = f"{_megabytes(free_bytes(path))} free"
        if written is not None and written.is_dir():
            size = sum(file.stat().st_size for file in written.rglob("*") if file.is_file())
            space += f", {_megabytes(size)} written of it so far"
        raise SpanwiseError(
            f"Cannot write {path}: {reason} ({space}). What was saved before is untouched; "
            "free some space or choose another folder."
        ) from cause


def _os_error_number(error: BaseException) -> int | None:
    if isinstance(error, OSError):
        return error.errno
    number = re.search(r"\(os error (\d+)\)", str(error))
    return int(number.group(1)) if number else None


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
