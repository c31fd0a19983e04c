"""A run kept elsewhere comes back: its newest checkpoint that is whole there, and what belongs to it.

    run.json                      says that this is a run of ours
    records/step-000001000        recipe, plan, log and other small files of the run, as they were then
    best/step-000001000           the best weights until then, where a run chooses among them
    checkpoints/step-000001000    what the run goes on from; sent after the two above
    records/final  final          the trained model, and the small files at the end

Each of these folders has a manifest, which is sent last and removed first. So what was cut short is never taken for
whole, and a fetched file is believed by its SHA-256 alone. A checkpoint counts with what belongs to it, or not at all.
"""

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from spanwise.errors import CheckpointError, ConfigError, SpanwiseError
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import (
    BEST_NAME,
    CHECKPOINTS_NAME,
    MANIFEST_NAME,
    MARKER_NAME,
    RECIPE_NAME,
    TEMPORARY_PREFIX,
    JsonObject,
    atomic_folder,
    parse_manifest,
    remove_folder,
    write_atomic,
)
from spanwise.runtime.lock import LOCK_NAME, folder_lock
from spanwise.runtime.remote.mirror import fetch_file, read_file
from spanwise.runtime.remote.paths import RemotePath, path_of

RECORDS_NAME = "records"


def fetch_lost_run(
    folder: str | Path, address: str | None, *, resume: bool = False, say: Callable[[str], None] = print
) -> None:
    """Bring a run to `folder` that has no checkpoint there (any more), if `address` holds one and `resume` is set.

    Call it before the run folder is looked at. A checkpoint that is damaged at the address is named through `say`, and
    the one before is taken; where none was ever whole there, the run begins anew. address: None does nothing.
    Raises: ConfigError where `address` is no address, cannot be reached, holds a run and `resume` is not set, or holds
    another run than `folder`; CheckpointError where checkpoints are there and none is whole; FolderInUseError.
    """
    if address is None:
        return
    remote, here = remote_of(address), Path(folder)
    try:
        _fetch_if_lost(remote, here, resume, say)
    except SpanwiseError:
        raise
    except Exception as cause:  # file systems raise errors of their own
        if not (resume and steps_in(here)):
            raise ConfigError(
                f"{remote} cannot be reached: {in_words(cause)}. Check the address, the network, and the credentials "
                "that fsspec finds."
            ) from cause
        say(f"{remote} cannot be reached now: {in_words(cause)}. The run goes on from what is in {here}.")


def remote_of(address: str) -> RemotePath:
    """Return the place that `--upload` names. Raises: ConfigError where fsspec knows no such protocol."""
    remote = path_of(address)
    if not isinstance(remote, RemotePath):
        raise ConfigError(f"--upload {address} is no address; give one such as s3://bucket/run or file:///mnt/run.")
    return remote


def steps_in(folder: Path) -> set[str]:
    """Return the names of the checkpoints that are committed in a run folder of this machine."""
    return {path.parent.name for path in folder.glob(f"{CHECKPOINTS_NAME}/step-*/{MANIFEST_NAME}")}


def steps_at(remote: RemotePath) -> list[RemotePath]:
    """Return the folders at an address that are named by a step, whole or not, the newest first."""
    system, place = remote.at()
    if not system.isdir(place):
        return []
    names = {Path(found).name for found in system.ls(place, detail=False)}
    return [remote / name for name in sorted(names, reverse=True) if name.startswith("step-")]


def in_words(cause: Exception) -> str:
    """Return what an error says, or its kind where it says nothing."""
    return (str(cause) or type(cause).__name__).rstrip(".")


def _fetch_if_lost(remote: RemotePath, here: Path, resume: bool, say: Callable[[str], None]) -> None:
    if not (remote / MARKER_NAME).exists():
        return
    if not resume:
        raise ConfigError(f"{remote} holds a run already; go on with it by --resume, or give another address.")
    if steps_in(here):
        _refuse_another(remote, here)
        return
    if _is_foreign(here):
        return  # whoever claims the folder refuses it in words of its own
    committed = [step for step in steps_at(remote / CHECKPOINTS_NAME) if (step / MANIFEST_NAME).exists()]
    if not committed:
        say(f"{remote} has no whole checkpoint yet, so the run begins anew.")
        return
    with folder_lock(here):
        for step in committed:
            try:
                _fetch_step(remote, here, step.name)
            except CheckpointError as damage:
                say(f"{step} is not used: {damage}")
                continue
            say(f"Fetched {step.name} from {remote}.")
            return
        if not any((here / CHECKPOINTS_NAME).iterdir()):  # made for what did not come; a new run may want the folder
            DISK.remove_tree(here / CHECKPOINTS_NAME)
    raise CheckpointError(
        f"none of the {len(committed)} checkpoints at {remote} could be fetched whole, for the reasons above. Try "
        "again where the network failed; else give another address, which begins a new run."
    )


def _refuse_another(remote: RemotePath, here: Path) -> None:
    """Refuse to mix two runs at one address. Raises: ConfigError."""
    if not (here / RECIPE_NAME).exists():
        return
    for step in steps_at(remote / RECORDS_NAME):
        try:
            is_same = read_file(step / RECIPE_NAME, CheckpointError) == (here / RECIPE_NAME).read_bytes()
        except CheckpointError:
            continue
        if not is_same:
            raise ConfigError(
                f"{remote} holds another run than {here}: their {RECIPE_NAME} differ. Give another address."
            )
        return


def _is_foreign(here: Path) -> bool:
    """Return whether a folder holds things that no run of ours put there."""
    if (here / MARKER_NAME).exists() or not here.is_dir():
        return False
    return any(path.name != LOCK_NAME and not path.name.startswith(TEMPORARY_PREFIX) for path in here.iterdir())


def _fetch_step(remote: RemotePath, here: Path, name: str) -> None:
    """Bring one checkpoint and what belongs to it, or nothing. Raises: CheckpointError where it is not whole."""
    records = _read_records(remote / RECORDS_NAME / name)
    best = remote / BEST_NAME / name
    with atomic_folder(here / CHECKPOINTS_NAME / name, existing="replace") as temporary:
        _fetch_files(remote / CHECKPOINTS_NAME / name, temporary)
        if best.exists():
            with atomic_folder(here / BEST_NAME, existing="replace") as temporary_best:
                _fetch_files(best, temporary_best)
        elif (here / BEST_NAME).exists():
            remove_folder(here / BEST_NAME)  # of a fetch that was cut short
        for file, content in records.items():
            write_atomic(here / file, partial(DISK.write_file, content=content))


def _manifest_at(remote: RemotePath) -> dict[str, JsonObject]:
    return parse_manifest(read_file(remote / MANIFEST_NAME, CheckpointError), remote / MANIFEST_NAME)


def _read_records(remote: RemotePath) -> dict[str, bytes]:
    files = {}
    for name, expected in _manifest_at(remote).items():
        files[name] = read_file(remote / name, CheckpointError)
        if hashlib.sha256(files[name]).hexdigest() != expected["sha256"]:
            raise CheckpointError(f"{remote / name} is not what {MANIFEST_NAME} beside it says.")
    return files


def _fetch_files(remote: RemotePath, target: Path) -> None:
    for name, expected in _manifest_at(remote).items():
        DISK.make_folders((target / name).parent)
        fetch_file(remote / name, target / name, expected, CheckpointError)
