"""The text and questions that ship with the package; their sources and licences are in the LICENSES.md beside them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from spanwise.quickstart.texts import Language
from spanwise.weights.learned_from import Origin

FILES = {
    "train_text": "wiki-train.txt.xz",
    "valid_text": "wiki-valid.txt.xz",
    "qa_train": "qa-train.json.xz",
    "qa_dev": "qa-dev.json.xz",
    "own_train": "own-train.txt.xz",
    "own_valid": "own-valid.txt.xz",
    "own_questions": "own-questions.json.xz",
    "licences": "LICENSES.md",
}


WIKIPEDIA_LICENCE = "CC BY-SA 3.0 and GFDL 1.3 or later"
TEXT_ORIGINS: dict[Language, Origin] = {
    "en": Origin(
        file="bundled wiki-train.txt.xz", source="English Wikipedia, jason-feng/wikiVisual", licence=WIKIPEDIA_LICENCE
    ),
    "ko": Origin(
        file="bundled ko/wiki-train.txt.xz",
        source="Korean Wikipedia, 97danielj/WordEmbedding",
        licence=WIKIPEDIA_LICENCE,
    ),
}
QUESTION_ORIGINS: dict[Language, Origin] = {
    "en": Origin(
        file="bundled qa-train.json.xz",
        source="SQuADShifts (new Wikipedia), Miller, Krauth, Recht and Schmidt 2020",
        licence="CC BY 4.0; paragraphs CC BY-SA 3.0",
    ),
    "ko": Origin(
        file="bundled ko/qa-train.json.xz",
        source="made by rule from the bundled Korean Wikipedia text",
        licence="CC BY-SA 3.0",
    ),
}

OWN_ORIGINS: dict[Language, Origin] = {
    "en": Origin(
        file="bundled own-train.txt.xz",
        source="Arthur Conan Doyle, The Adventures of Sherlock Holmes, Project Gutenberg",
        licence="public domain",
    ),
    "ko": Origin(
        file="bundled ko/own-train.txt.xz",
        source="KoBEST (HellaSwag), Jang, Kim, Kwon and Davis 2022",
        licence="CC BY-SA 4.0",
    ),
}


@dataclass(frozen=True, kw_only=True)
class BundledCorpus:
    """Paths of the bundled files, valid inside `with open_bundle() as corpus:`."""

    train_text: Path  # Wikipedia articles, one paragraph a line
    valid_text: Path  # other articles
    qa_train: Path  # questions in the SQuAD 1.1 format
    qa_dev: Path  # questions on articles that are in no other file
    own_train: Path  # text of another domain, to adapt to
    own_valid: Path  # of the same kind, to measure on
    own_questions: Path  # questions by hand on passages of own_valid
    licences: Path
    language: Language

    @property
    def text_origin(self) -> Origin:
        """Where the training text comes from, in short; `licences` says all."""
        return TEXT_ORIGINS[self.language]

    @property
    def question_origin(self) -> Origin:
        """Where the training questions come from."""
        return QUESTION_ORIGINS[self.language]

    @property
    def own_origin(self) -> Origin:
        """Where the text to adapt to comes from."""
        return OWN_ORIGINS[self.language]


@contextmanager
def open_bundle(language: Language = "en") -> Iterator[BundledCorpus]:
    """Give the bundled files as real paths, also where the package is imported from a zip archive."""
    folder = files("spanwise.quickstart").joinpath("corpus")
    if language != "en":
        folder = folder.joinpath(language)
    with ExitStack() as stack:
        paths = {key: stack.enter_context(as_file(folder.joinpath(name))) for key, name in FILES.items()}
        yield BundledCorpus(**paths, language=language)
