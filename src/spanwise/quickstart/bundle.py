"""The text and questions that ship with the package; their sources and licences are in corpus/LICENSES.md."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from types import TracebackType

FILES = {
    "train_text": "wiki-train.txt.xz",
    "valid_text": "wiki-valid.txt.xz",
    "qa_train": "qa-train.json.xz",
    "qa_dev": "qa-dev.json.xz",
    "licences": "LICENSES.md",
}


@dataclass(frozen=True, kw_only=True)
class BundledCorpus:
    """Paths of the bundled files, valid inside `with open_bundle() as corpus:`."""

    train_text: Path  # 197 Wikipedia articles, one paragraph a line
    valid_text: Path  # 25 other articles
    qa_train: Path  # SQuAD 1.1 format, 6,835 questions on 42 articles
    qa_dev: Path  # 1,103 questions on 6 articles that are in no other file
    licences: Path


class open_bundle:
    """Give the bundled files as real paths, also where the package is imported from a zip archive."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> BundledCorpus:
        folder = files("spanwise.quickstart").joinpath("corpus")
        paths = {key: self._stack.enter_context(as_file(folder.joinpath(name))) for key, name in FILES.items()}
        return BundledCorpus(**paths)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
