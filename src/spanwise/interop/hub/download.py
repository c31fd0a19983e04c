"""A model of the hub in the hub's cache on this machine."""

from pathlib import Path

from spanwise.errors import CheckpointError
from spanwise.interop.tensor_files import INDEX, PICKLED, SAFETENSORS
from spanwise.runtime.suggest import did_you_mean
from spanwise.text.sentencepiece_files import KINDS as SENTENCEPIECE_FILES
from spanwise.weights import SHIPPED

SMALL_FILES = ["*.json", "*.txt", *SENTENCEPIECE_FILES, "README.md"]


def download(hub_id: str, revision: str | None = None, *, weights: bool = True) -> Path:
    """Return the folder of a model in the hub's cache; what is missing there is fetched, safetensors rather than
    `.bin`. In offline mode (HF_HUB_OFFLINE=1), or where the hub does not answer, the cache alone is asked.

    revision: a branch, tag or commit of the hub, None for its main one. weights: False leaves them out.
    Raises:
        CheckpointError: the hub has no such model, or it can't be reached and the cache lacks it.
    """
    from huggingface_hub import snapshot_download  # heavy, and local folders don't need it
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        wanted = [*SMALL_FILES, *(["*.safetensors"] if weights else [])]
        folder = Path(snapshot_download(hub_id, revision=revision, allow_patterns=wanted))
        if weights and not any((folder / name).exists() for name in (SAFETENSORS, INDEX)):
            folder = Path(snapshot_download(hub_id, revision=revision, allow_patterns=[*SMALL_FILES, PICKLED]))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        named = hub_id if revision is None else f"{hub_id}@{revision}"
        raise CheckpointError(
            f"{named!r} is no folder here, and the hub did not give it: {reason}{did_you_mean(hub_id, list(SHIPPED))}"
        ) from error
    return folder
