"""The text and questions that ship with the package; their sources and licences are in the LICENSES.md beside them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from spanwise.quickstart.texts import Language

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

    train_text: Path  # Wikipedia articles, one paragraph a line
    valid_text: Path  # other articles
    qa_train: Path  # questions in the SQuAD 1.1 format
    qa_dev: Path  # questions on articles that are in no other file
    licences: Path
    language: Language


@contextmanager
def open_bundle(language: Language = "en") -> Iterator[BundledCorpus]:
    """Give the bundled files as real paths, also where the package is imported from a zip archive."""
    folder = files("spanwise.quickstart").joinpath("corpus")
    if language != "en":
        folder = folder.joinpath(language)
    with ExitStack() as stack:
        paths = {key: stack.enter_context(as_file(folder.joinpath(name))) for key, name in FILES.items()}
        yield BundledCorpus(**paths, language=language)
