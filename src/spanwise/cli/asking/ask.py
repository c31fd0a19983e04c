"""`spanwise ask`: questions in, answers out of a folder of text."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from spanwise.cli.asking.show import show_asked
from spanwise.cli.console import print_json
from spanwise.cli.options.ranges import Few, between
from spanwise.errors import ConfigError, DataError

if TYPE_CHECKING:
    from spanwise.asking.ask import TextFolder

INTERRUPTED = "Interrupted. An index is kept whole or not at all; ask again to go on."


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReaderOptions:
    """Options about the model that reads."""

    model: str | None = None
    """Folder of a model fine-tuned for qa, or a hub id. Default: the one that ships for the language of the text."""
    tokenizer: Path | None = None
    """Folder or hub id of its tokenizer. Default: the model's own."""
    device: str | None = None
    """cpu, cuda or cuda:1. Default: a GPU where there is one."""
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto"
    """Precision of the computation; auto is bf16 where the machine has it, int8 the fastest on a CPU."""


USUAL_READER = ReaderOptions()


def ask(
    folder: Path,
    /,
    *question: str,
    questions: Path | None = None,
    top: Few = 1,
    threshold: Annotated[float | None, Parameter(validator=between(0, 1))] = None,
    errors: Literal["strict", "replace"] = "strict",
    text_field: str = "text",
    reader: ReaderOptions = USUAL_READER,
    json: bool = False,
) -> None:
    """Ask questions of a folder of text: each answer with its sentence, file and line, or that nothing was found.

    The folder's index is kept in it (.spanwise-index) and renewed where files changed.

    Parameters
    ----------
    folder
        Text, Markdown, JSON lines, parquet, HTML, DOCX and HWPX files, and PDF with pip install 'spanwise[documents]'.
    question
        One or more questions, each in quotes.
    questions
        A text file with a question a line, asked after those.
    top
        Answers to show for a question, at most.
    threshold
        How sure an answer must be to be told, from 0 (always) to 1. Default: as calibrated for the shipped models.
    errors
        What to do at bytes that are not UTF-8, and at damaged documents: stop; or replace the bytes, leave such
        documents out and name them.
    text_field
        The field that holds the text, in JSON lines and parquet.
    json
        Print one JSON object.
    """
    try:
        asked = [*question, *(_questions_of(questions) if questions else [])]
        if not asked:
            raise ConfigError("no question was asked; write one in quotes behind the folder, or name --questions FILE.")
        text = _open(folder, reader, errors, text_field)
        _answer(text, asked, top, threshold, as_json=json)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(INTERRUPTED) from None


def _questions_of(file: Path) -> list[str]:
    from spanwise.text.readers import read_lines

    found = [line.text.strip() for line in read_lines(file) if line.text.strip()]
    if not found:
        raise DataError(f"{file} holds no question; write one a line.")
    return found


def _open(folder: Path, reader: ReaderOptions, errors: Literal["strict", "replace"], text_field: str) -> "TextFolder":
    from spanwise.asking.ask import TextFolder
    from spanwise.asking.documents.read import ReadingOptions

    text = TextFolder(
        folder,
        model=reader.model,
        tokenizer=reader.tokenizer,
        device=reader.device,
        precision=reader.precision,
        reading=ReadingOptions(errors=errors, text_field=text_field),
        say=_tell,
    )
    for note in text.notes:
        _tell(f"Note: {note}")
    return text


def _answer(text: "TextFolder", asked: Sequence[str], top: int, threshold: float | None, *, as_json: bool) -> None:
    from spanwise.asking.ask import AskOptions

    options = AskOptions(top=top, threshold=threshold)
    if as_json:
        found = [text.ask(question, options).record() for question in asked]
        print_json({"folder": str(text.folder), "notes": list(text.notes), "questions": found})
        return
    answered: Iterator = (text.ask(question, options) for question in asked)
    for one in answered:
        show_asked(one)


def _tell(words: str) -> None:
    """Say on standard error what is no answer."""
    print(words, file=sys.stderr, flush=True)
