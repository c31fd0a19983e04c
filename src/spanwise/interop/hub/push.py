"""A model folder goes to the hub: its files and its card, without what only training needs."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import CheckpointError, ConfigError, SpanwiseError
from spanwise.interop.sources import HUB_ID, find_folder
from spanwise.runtime.files import MANIFEST_NAME, manifest_bytes, read_manifest, sha256_of
from spanwise.weights import shipped_folder

if TYPE_CHECKING:
    from huggingface_hub import HfApi

CARD = "README.md"
OF_TRAINING = "training/"  # of a checkpoint: optimizer and state


@dataclass(frozen=True)
class Pushed:
    """Where a model went."""

    address: str
    repository: str
    files: tuple[str, ...]


def push(folder: str | Path, repository: str, *, private: bool = False, revision: str | None = None) -> Pushed:
    """Put a model folder, or the model of a run folder, into a repository of the hub, which is made if it is not there.

    The files must be those of the manifest; the card (README.md) alone may have been edited. `private` is how a new
    repository is made; an old one stays as it is. `revision` is a branch, made if it is not there.

    Raises:
        CheckpointError: a folder that is not ours, not finished or damaged.
        ConfigError: a wrong name, no token, or a token that may not write there.
        SpanwiseError: the hub can't be reached, or refuses.
    """
    from huggingface_hub import HfApi, get_token  # heavy, and most commands don't need it

    if not Path(folder).is_dir() and shipped_folder(str(folder)) is not None:
        raise CheckpointError(
            f"{folder} comes with the package and is not pushed from there; push what `spanwise adapt` or `finetune` "
            f"makes of it, or a part: its encoder, or with --task one task, by `spanwise convert {folder} FOLDER`."
        )
    if not Path(folder).is_dir():
        raise CheckpointError(f"{folder} is no folder; the folder of a model or of a run was expected.")
    if not HUB_ID.fullmatch(repository):
        raise ConfigError(f"'{repository}' is no name of a repository; owner/name was expected.")
    model = find_folder(folder)
    with _staged(model) as staged:
        if get_token() is None:
            raise ConfigError("the hub asks for a token, and there is none: call `hf auth login`, or set HF_TOKEN.")
        with _explained(repository):
            address, name = _upload(HfApi(), staged, repository, model.name, private, revision)
        return Pushed(address, name, tuple(sorted([*read_manifest(staged), MANIFEST_NAME])))


def _upload(
    api: "HfApi", staged: Path, repository: str, title: str, private: bool, revision: str | None
) -> tuple[str, str]:
    """Return the address and the full name of the repository that got the files."""
    made = api.create_repo(repository, private=private or None, exist_ok=True)  # None: as the owner has it
    if revision is not None:
        api.create_branch(made.repo_id, branch=revision, exist_ok=True)
    api.upload_folder(repo_id=made.repo_id, folder_path=staged, revision=revision, commit_message=f"Upload {title}")
    return str(made.url), made.repo_id


@contextmanager
def _staged(model: Path) -> Iterator[Path]:
    """Give a folder with what is handed on, and a manifest of just that: the old one's words, but for the card."""
    with tempfile.TemporaryDirectory(prefix="spanwise-push-") as name:
        staged = Path(name)
        files = {file: facts for file, facts in read_manifest(model).items() if not file.startswith(OF_TRAINING)}
        for file, facts in files.items():
            source, target = model / file, staged / file
            if not source.is_file():
                raise CheckpointError(f"{source} is missing; {MANIFEST_NAME} lists it. Restore it first.")
            if file != CARD and sha256_of(source) != facts["sha256"]:
                raise CheckpointError(
                    f"{source} differs from what {MANIFEST_NAME} says; it was edited or is damaged. Restore it, "
                    "or write the folder anew: spanwise convert."
                )
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(source, target)
            except OSError:  # another disk, or one without links
                shutil.copyfile(source, target)
        if CARD in files:
            files[CARD] = {"size": (staged / CARD).stat().st_size, "sha256": sha256_of(staged / CARD)}
        (staged / MANIFEST_NAME).write_bytes(manifest_bytes(files))
        yield staged


@contextmanager
def _explained(repository: str) -> Iterator[None]:
    """Turn what huggingface_hub raises into an error that says what to do."""
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    try:
        yield
    except OfflineModeIsEnabled as error:
        raise ConfigError("offline mode is on (HF_HUB_OFFLINE), so nothing is pushed: unset it.") from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        said = (error.server_message or str(error)).strip().splitlines()[0]
        if status in (401, 403):
            raise ConfigError(
                f"the token may not write to {repository} (status {status}: {said}): take a token with the right to "
                "write, or another owner."
            ) from error
        raise SpanwiseError(f"the hub refused {repository} (status {status}): {said}") from error
    except Exception as error:
        if not type(error).__module__.startswith("httpx"):  # whichever client the library is built on
            raise
        raise SpanwiseError(f"the hub can't be reached: {error}. Check the network and HF_ENDPOINT.") from error
