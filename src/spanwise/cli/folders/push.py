"""`spanwise push`: a model folder to the hub."""

from dataclasses import asdict
from pathlib import Path

from spanwise.cli.console import print_json, say


def push(
    folder: Path, repository: str, /, *, private: bool = False, revision: str | None = None, json: bool = False
) -> None:
    """Put a model folder into a repository of the hub, with its card (README.md) and without what only training needs.

    The token is that of `hf auth login`, or HF_TOKEN; HF_ENDPOINT names another hub. Files that differ from the
    folder's manifest are refused; the card may be edited.

    Parameters
    ----------
    folder
        Model folder, or a run folder, whose model is taken.
    repository
        Its name, owner/name. It is made if it is not there.
    private
        Make it a private one. A repository that is there stays as it is.
    revision
        Branch to put it on, which is made if it is not there. Default: main.
    json
        Print one JSON object.
    """
    from spanwise.interop.hub.push import push as push_folder

    pushed = push_folder(folder, repository, private=private, revision=revision)
    if json:
        print_json(asdict(pushed))
        return
    say(f"{len(pushed.files)} files are at {pushed.address}")
    say(f'Next, anywhere: spanwise show model {pushed.repository}, or spanwise.load("{pushed.repository}")')
