"""From what a user names to a folder on this machine: a path, weights that ship with the package, or a hub id."""

import functools
import logging
import re
from pathlib import Path

from spanwise.errors import CheckpointError
from spanwise.interop.hub.download import download
from spanwise.interop.record import RECORD
from spanwise.interop.tensor_files import SAFETENSORS
from spanwise.runtime.files import (
    BEST_NAME,
    CHECKPOINTS_NAME,
    FINAL_NAME,
    MANIFEST_NAME,
    MARKER_NAME,
    read_manifest,
)
from spanwise.weights import shipped_folder

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
REVISION = re.compile(r"[A-Za-z0-9][\w./-]*")  # a branch, tag or commit
CONFIG = "config.json"
GENERATOR = "generator"  # of an ELECTRA checkpoint: a folder of the same kind inside it

logger = logging.getLogger(__name__)


def find_folder(source: str | Path) -> Path:
    """Return the folder that `source` names: one that is there, shipped weights ("spanwise-mini"), or a hub id, with or
    without a revision ("owner/name@v2"), downloaded into the hub's cache, safetensors rather than `.bin`. Of a run
    folder (`pretrain`, `adapt`, `finetune`) it is the model that the run left, and the log says so.

    Raises:
        CheckpointError: no such folder, a run that is not finished, or the hub has no such model or can't be reached.
    """
    path = Path(source)
    if path.is_dir():
        return path if (path / CONFIG).exists() else _model_in(path)
    if path.exists():
        raise CheckpointError(f"{path} is a file; a model folder was expected. Name the folder that holds it.")
    shipped = shipped_folder(source)
    if shipped is not None:
        return shipped
    named = _hub_name(source)
    if not isinstance(source, str) or named is None:
        raise CheckpointError(
            f"{source} does not exist; a model folder or a hub id (owner/name, owner/name@revision) was expected."
        )
    hub_id, revision = named
    beside = Path(hub_id).parent
    if beside.is_dir() and beside != Path("."):
        raise CheckpointError(
            f"{source} does not exist, and its folder {beside} does. A model of the hub is not looked for there: "
            "correct the name."
        )
    return download(hub_id, revision)


def find_tokenizer(source: str | Path) -> Path:
    """Return the folder of the tokenizer that `source` names: one that is there, that of shipped weights, or that of a
    hub id as in `find_folder`, of which the small files alone are downloaded. Other names come back as they are.

    Raises: CheckpointError where the hub has no such model or can't be reached.
    """
    path = Path(source)
    if path.exists():
        return path
    if (shipped := shipped_folder(str(source))) is not None:
        return shipped
    named, beside = _hub_name(source), path.parent
    if named is None or (beside.is_dir() and beside != Path(".")):
        return path
    return download(*named, weights=False)


def _hub_name(source: str | Path) -> tuple[str, str | None] | None:
    """Return the id and the revision, if any, that a name has the form of; None for any other name."""
    hub_id, at, revision = str(source).partition("@")
    is_id = HUB_ID.fullmatch(hub_id) and (not at or REVISION.fullmatch(revision))
    return (hub_id, revision or None) if is_id else None


def _model_in(folder: Path) -> Path:
    """Return the model of a run folder; `folder` itself where it is neither a run nor holds runs."""
    final = folder / FINAL_NAME
    if (final / CONFIG).exists() and _is_best_in_place(folder):
        _tell_taken(folder, final)
        return final
    if (folder / MARKER_NAME).exists():
        saved = max((folder / CHECKPOINTS_NAME).glob(f"step-*/{CONFIG}"), default=None)
        raise CheckpointError(
            f"{folder} holds a run that is not finished, so its model is not there yet. Go on with it by the command "
            "that began it and --resume (in Python, resume=True)"
            + (f"; or name its newest checkpoint, {saved.parent}." if saved else ".")
        )
    models = [path.parent for path in sorted(folder.glob(f"*/{FINAL_NAME}/{CONFIG}"))]
    if models:
        raise CheckpointError(f"{folder} holds {len(models)} runs; name the model of one: {_named(models)}.")
    return folder


@functools.cache  # once, however often a command opens it
def _tell_taken(folder: Path, final: Path) -> None:
    """Say which model of a run is taken."""
    logger.warning("%s is a run folder; its model %s is taken.", folder, final)


def _is_best_in_place(run: Path) -> bool:
    """Return whether the final model is the one that the run chose; it is put there as the last act of the run."""
    best, final = run / BEST_NAME, run / FINAL_NAME
    if not all((folder / MANIFEST_NAME).exists() for folder in (best, final)):
        return True  # a run that chose among no weights, or whose `best` was cleared away
    chosen, there = read_manifest(best), read_manifest(final)
    return all(chosen.get(name) == there.get(name) for name in (SAFETENSORS, RECORD))


def _named(folders: list[Path]) -> str:
    return ", ".join(map(str, folders[:3])) + (", ..." if len(folders) > 3 else "")
