"""Options of the commands that read text: `--lines`, `--errors`, `--text-field`, `--language`."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from spanwise.runtime.progress import Gauge
    from spanwise.text.corpus import CorpusOptions, Document


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """How text files are read, where lines are always read whole."""

    errors: Literal["strict", "replace"] = "strict"
    """What to do at bytes that are not UTF-8: stop, or replace them and go on."""
    text_field: str = "text"
    """The field that holds the text, in JSON lines and parquet."""

    def corpus(self) -> "CorpusOptions":
        """Return the same options as the library takes them. Raises: ConfigError."""
        from spanwise.text.corpus import CorpusOptions

        return CorpusOptions(**asdict(self))


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LineOptions(FileOptions):
    """How the lines of text files are read."""

    lines: Literal["paragraphs", "sentences"] = "paragraphs"
    """What a line of text is; paragraphs are split into sentences."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TextOptions(LineOptions):
    """How text files are read."""

    language: str = "en"
    """Of the text, for splitting sentences: en, ko, ..."""


def watched(documents: "Iterator[Document]", paths: Sequence[str | Path], gauge: "Gauge") -> "Iterator[Document]":
    """Give on the documents of files, and tell the gauge (in MB) of each; of the end too, where the files say how much
    text they hold."""
    from spanwise.text.corpus import TEXT_ENDINGS, corpus_files

    files = corpus_files(paths)
    if all(file.suffix in TEXT_ENDINGS for file in files):  # whose text is as long as the file
        gauge.expect(sum(file.stat().st_size for file in files) / 1e6)
    return gauge.over(documents, lambda document: sum(len(line.encode()) + 1 for line in document.sentences) / 1e6)


USUAL_LINES = LineOptions()
USUAL_TEXT = TextOptions()
