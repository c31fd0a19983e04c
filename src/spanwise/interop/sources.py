"""From what a user names to a folder on this machine: a path, weights that ship with the package, or a hub id."""

import re
from pathlib import Path

from spanwise.errors import CheckpointError
from spanwise.interop.tensor_files import INDEX, PICKLED, SAFETENSORS
from spanwise.runtime.suggest import did_you_mean
from spanwise.text.sentencepiece_files import KINDS as SENTENCEPIECE_FILES
from spanwise.weights import SHIPPED, shipped_folder

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
SMALL_FILES = ["*.json", "*.txt", *SENTENCEPIECE_FILES, "README.md"]


def find_folder(source: str | Path) -> Path:
    """Return the folder that `source` names: one that is there, shipped weights ("spanwise-nano"), or a hub id, which
    is downloaded into the hub's cache, safetensors rather than `.bin`.

    Raises:
        CheckpointError: no such folder, or the hub has no such model or can't be reached.
    """
    path = Path(source)
    if path.is_dir():
        if not (path / "config.json").exists() and (path / "final" / "config.json").exists():
            raise CheckpointError(f"{path} is a run folder; its model is {path / 'final'}.")
        return path
    if path.exists():
        raise CheckpointError(f"{path} is a file; a model folder was expected. Name the folder that holds it.")
    shipped = shipped_folder(source)
    if shipped is not None:
        return shipped
    if not isinstance(source, str) or not HUB_ID.fullmatch(source):
        raise CheckpointError(f"{source} does not exist; a model folder or a hub id (owner/name) was expected.")
    if path.parent.is_dir() and path.parent != Path("."):
        raise CheckpointError(
            f"{source} does not exist, and its folder {path.parent} does. A model of the hub is not looked for there: "
            "correct the name."
        )
    return _download(source)


def _download(hub_id: str) -> Path:
    from huggingface_hub import snapshot_download  # heavy, and local folders don't need it
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(hub_id, allow_patterns=[*SMALL_FILES, "*.safetensors"]))
        if not any((folder / name).exists() for name in (SAFETENSORS, INDEX)):
            folder = Path(snapshot_download(hub_id, allow_patterns=[*SMALL_FILES, PICKLED]))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CheckpointError(
            f"{hub_id!r} is no folder here, and the hub did not give it: {reason}{did_you_mean(hub_id, list(SHIPPED))}"
        ) from error
    return folder
