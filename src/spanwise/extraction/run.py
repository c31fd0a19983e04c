"""Models over a whole corpus in one reading: `extract`, from text files to one file of rows.

Beside OUT lies a folder OUT.work while the job runs: the same call again goes on from it, and the end removes it.
Documents that could not be read stand in OUT.errors.jsonl.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spanwise.errors import ConfigError, InterruptedAndSaved, SpanwiseError
from spanwise.extraction.documents import ReadingOptions, named_files
from spanwise.extraction.models import chosen, folder_of
from spanwise.extraction.questions import read_questions
from spanwise.extraction.rows import COLUMNS, Record, check_suffix, write_json_lines, write_rows
from spanwise.extraction.shards import Survey, WorkFolder, survey
from spanwise.extraction.worker import do_shards
from spanwise.runtime.device import Precision, choose_device
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import JsonObject, explained_disk_errors, make_folder_durably
from spanwise.runtime.lock import folder_lock
from spanwise.runtime.machine import num_usable_cores
from spanwise.runtime.processes.launch import launch
from spanwise.runtime.wording import counted
from spanwise.tasks.training_files import hash_file
from spanwise.text.sentences import check_language


@dataclass(frozen=True, kw_only=True)
class ExtractionReport:
    """How an extraction ended. `num_documents`: of the corpus, of which `num_broken` could not be read. `num_unread`:
    tokens that the named task of a model cut, where it cut any. `seconds` is the time of this call, which may have gone
    on from an earlier one."""

    out: Path
    num_documents: int
    num_broken: int
    num_rows: int
    errors: Path | None  # the file of documents that could not be read; None: all could
    num_errors: int
    num_unread: dict[str, int]
    seconds: float


def extract(
    paths: Sequence[str | Path],
    *,
    models: Sequence[str],
    out: str | Path,
    tasks: Sequence[str] | None = None,
    questions: str | Path | None = None,
    reading: ReadingOptions | None = None,
    language: str = "en",
    processes: int | None = None,
    device: str | None = None,
    precision: Precision = "auto",
    say: Callable[[str], None] = lambda line: None,
) -> ExtractionReport:
    """Read every document of files, folders and globs with every task of the models, and write the rows of all to
    `out` (.parquet or .jsonl; `extraction/rows.py` lists the columns).

    models: fine-tuned folders, folders with several tasks (all are taken), hub ids. tasks: only these. questions: a
    file; without one, models for questions are left out. processes: None takes one for each core, one for a GPU; the
    rows do not depend on it. A call that was stopped or killed goes on when it is repeated.
    Raises: ConfigError where an option does not go with the others or with what was begun; DataError for a corpus or a
    file of questions without content; CheckpointError for a model; FolderInUseError; InterruptedAndSaved.
    """
    began = time.monotonic()
    check_language(language)
    out = Path(os.path.abspath(out))
    check_suffix(out)
    work = WorkFolder(out.with_name(f"{out.name}.work"))
    if out.exists() and not work.path.exists():
        raise ConfigError(f"{out} exists already. Choose another name, or remove it first.")
    reading = reading or ReadingOptions()
    files = named_files(paths)
    pairs, left_out = chosen(models, tasks, questions is not None)
    for line in left_out:
        say(line)
    found = survey(files, reading)
    asked = {
        "text": found.files,
        "models": {f"{model} ({task})": hash_file(folder_of(model)) for model, task in pairs},
        "questions": [] if questions is None else [[q.id, q.text] for q in read_questions(Path(questions))],
        "reading": asdict(reading),
        "language": language,
        "precision": precision,
    }
    plan: JsonObject = {
        "asked": asked,
        "files": {name: os.path.abspath(file) for name, file in files.items()},
        "readers": [{"model": model, "task": task} for model, task in pairs],
        "num_shards": found.num_shards,
        "device": device,
    }
    make_folder_durably(work.path)
    with folder_lock(work.path):
        if work.claim(plan):
            done = work.num_finished(found.num_shards)
            say(f"Going on: {done:,} of {counted(found.num_shards, 'shard')} {'is' if done == 1 else 'are'} done.")
        _run(work, _num_processes(processes, device, precision, found.num_shards), say)
        report = _finish(work, out, found, plan["readers"], began)
        DISK.remove_tree(work.path)  # while it is ours: the next call would take it for a job to go on with
    return report


def _num_processes(processes: int | None, device: str | None, precision: Precision, num_shards: int) -> int:
    if processes is None:
        processes = num_usable_cores() if choose_device(device, precision).type == "cpu" else 1
    return max(1, min(processes, num_shards))


def _run(work: WorkFolder, num_processes: int, say: Callable[[str], None]) -> None:
    """Do all shards. Raises: InterruptedAndSaved; SpanwiseError where a process was lost."""
    if num_processes == 1:
        do_shards(work, 0, 1, say)
        return
    status = launch([sys.executable, "-m", "spanwise.extraction.worker", str(work.path)], num_processes, 1)
    if status == InterruptedAndSaved.exit_status:
        raise InterruptedAndSaved("stopped. The same command goes on with the shards that are missing.")
    if status:
        raise SpanwiseError(
            f"a process ended with status {status}. What is finished lies in {work.path}; the same command goes on."
        )


def _finish(
    work: WorkFolder, out: Path, found: Survey, readers: Sequence[dict[str, str]], began: float
) -> ExtractionReport:
    """Put the shards together, in their order. OUT appears last."""
    errors = out.with_name(f"{out.name}.errors.jsonl")
    unread = [0] * len(readers)

    def rows() -> Iterator[Record]:
        for content in work.contents(found.num_shards):
            for place, number in enumerate(content["unread"]):
                unread[place] += number
            yield from (dict(zip(COLUMNS, row, strict=True)) for row in content["rows"])

    wrong: Iterator[dict[str, Any]] = (
        error for content in work.contents(found.num_shards) for error in content["errors"]
    )
    with explained_disk_errors(out):
        num_errors = write_json_lines(work.path / "errors", wrong)
        num_rows = write_rows(work.path / "rows", rows(), out.suffix)
        if errors.exists():
            DISK.remove_file(errors)
        if num_errors:
            DISK.replace(work.path / "errors", errors)
        DISK.replace(work.path / "rows", out)
        DISK.fsync_folder(out.parent)
    return ExtractionReport(
        out=out,
        num_documents=found.num_documents,
        num_broken=found.num_broken,
        num_rows=num_rows,
        errors=errors if num_errors else None,
        num_errors=num_errors,
        num_unread={f"{r['model']} ({r['task']})": n for r, n in zip(readers, unread, strict=True) if n},
        seconds=time.monotonic() - began,
    )
