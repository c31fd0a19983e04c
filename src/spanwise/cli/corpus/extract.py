"""`spanwise extract`: models over a whole corpus in one reading, into one file of rows."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from spanwise.cli.console import print_json, say
from spanwise.cli.options.budget import format_seconds
from spanwise.cli.options.ranges import LineMegabytes, ReadersOrNone
from spanwise.errors import DataError
from spanwise.runtime.wording import counted

if TYPE_CHECKING:
    from spanwise.extraction.run import ExtractionReport


def extract(
    *text: Annotated[Path, Parameter(required=True)],
    models: Annotated[list[str], Parameter(consume_multiple=True)],
    out: Path,
    tasks: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    questions: Path | None = None,
    per_file: bool = False,
    errors: Literal["strict", "replace"] = "strict",
    text_field: str = "text",
    max_line_mb: LineMegabytes = 16,
    language: str = "en",
    processes: ReadersOrNone = None,
    device: str | None = None,
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto",
    json: bool = False,
) -> int:
    """Read every document once with every model: answers, names, clusters, relations and labels, with their places in
    the text as it was given. The same command again goes on with a job that was stopped.

    Parameters
    ----------
    text
        Files, folders or globs: .txt .jsonl .parquet, maybe packed as .gz .xz .zst .bz2. A blank line ends a document.
    models
        Fine-tuned folders or hub ids; of a folder with several tasks, such as spanwise-mini, all are taken.
    out
        File to write: .parquet or .jsonl. Documents that can't be read are listed in OUT.errors.jsonl (exit status 3).
    tasks
        Only these of the models' tasks: qa, tagging, coref, classification, relation (between the names of a sentence).
    questions
        Questions to put to every document: one on each line, or JSON lines with question and id.
    per_file
        A text file is one document, blank lines and all.
    errors
        What to do at bytes that are not UTF-8: list the document, or replace them and read it.
    text_field
        The field that holds the text, in JSON lines and parquet.
    max_line_mb
        Longest line of JSON lines, in MB. A longer one is listed as a document that can't be read.
    language
        Of the text, for splitting sentences: en, ko, ...
    processes
        How many share the work, with a thread each. Default: one for each core; one for a GPU. No row depends on it.
    device
        cpu, cuda or cuda:1. Default: a GPU where there is one.
    precision
        Precision of the computation; auto is bf16 where the machine has it, int8 the fastest way on many CPUs.
    json
        Print one JSON object.
    """
    from spanwise.extraction.documents import ReadingOptions
    from spanwise.extraction.run import extract as run

    report = run(
        text,
        models=models,
        out=out,
        tasks=tasks,
        questions=questions,
        reading=ReadingOptions(per_file=per_file, errors=errors, text_field=text_field, max_line_mb=max_line_mb),
        language=language,
        processes=processes,
        device=device,
        precision=precision,
        say=(lambda line: None) if json else say,
    )
    if json:
        print_json(asdict(report))
    else:
        _tell(report, out)
    return DataError.exit_status if report.errors is not None else 0


def _tell(report: "ExtractionReport", out: Path) -> None:
    read = report.num_documents - report.num_broken
    of = f"{read:,} of " if report.num_broken else ""
    rate = read / report.seconds
    say(
        f"Read {of}{counted(report.num_documents, 'document')} in {format_seconds(report.seconds)} ({rate:,.1f} per "
        f"second): {counted(report.num_rows, 'row')} in {out}"
    )
    for name, number in report.num_unread.items():
        what = "token was not read; it was" if number == 1 else "tokens were not read; they were"
        say(f"{name}: {number:,} {what} too many for one sequence.")
    if report.errors is not None:
        entries = counted(report.num_errors, "entry", "entries")
        say(f"{entries} about what could not be read: {report.errors}")
