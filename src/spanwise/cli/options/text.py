"""Options of the commands that read text: `--lines`, `--errors`, `--text-field`, `--language`."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from spanwise.text.corpus import CorpusOptions


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LineOptions:
    """How the lines of text files are read."""

    lines: Literal["paragraphs", "sentences"] = "paragraphs"
    """What a line of text is; paragraphs are split into sentences."""
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
class TextOptions(LineOptions):
    """How text files are read."""

    language: str = "en"
    """Of the text, for splitting sentences: en, ko, ..."""


USUAL_LINES = LineOptions()
USUAL_TEXT = TextOptions()
