"""The main job: a text in; a model that reads it, measures, answered questions and a report out, in minutes.

The usual way adapts the model that ships (`adapting/`); the other learns one from nothing (`from_scratch.py`). Both
write result.json, and report.html as a function of it.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import pydantic
from rich.console import Console

from spanwise.errors import ConfigError, DataError
from spanwise.quickstart.adapting.page import build_adapted_page
from spanwise.quickstart.adapting.record import AdaptedRecord
from spanwise.quickstart.adapting.run import ADAPTATION_FOLDER, Adapting
from spanwise.quickstart.bundle import open_bundle
from spanwise.quickstart.clock import StageClock
from spanwise.quickstart.from_scratch import PRETRAINING_FOLDER, FromScratch
from spanwise.quickstart.job import Job, free_folder, refuse_full
from spanwise.quickstart.language import settle_language
from spanwise.quickstart.page import build_page
from spanwise.quickstart.record import FORMAT, QuickstartRecord
from spanwise.quickstart.terminal import Terminal
from spanwise.quickstart.texts import Language
from spanwise.reporting.page import render
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.json_text import decode_json
from spanwise.runtime.lock import LOCK_NAME, folder_lock
from spanwise.runtime.progress import finite
from spanwise.text.corpus import CorpusOptions

DEFAULT_BUDGET = 480.0  # seconds
LEAST_BUDGET = 10.0
RESULT_NAME = "result.json"
REPORT_NAME = "report.html"
AnyRecord = QuickstartRecord | AdaptedRecord
SCRATCH_RECORD = pydantic.TypeAdapter(QuickstartRecord)
ADAPTED_RECORD = pydantic.TypeAdapter(AdaptedRecord)


@dataclass(frozen=True, kw_only=True)
class QuickstartResult:
    """The folders of everything, and the record that result.json holds."""

    folder: Path
    report: Path
    model: Path  # adapted, or pre-trained from nothing
    qa_model: Path  # answers questions
    record: AnyRecord


def quickstart(
    texts: Sequence[str | Path] = (),
    *,
    out: str | Path | None = None,
    budget: float = DEFAULT_BUDGET,
    from_scratch: bool = False,
    init: str | Path | None = None,
    question: str | None = None,
    language: Literal["en", "ko"] | None = None,
    text_language: str | None = None,
    corpus: CorpusOptions | None = None,
    seed: int = 0,
    console: Console | None = None,
    began: float | None = None,
) -> QuickstartResult:
    """Adapt the shipped model to a text, or learn one `from_scratch`, and return what came of it.

    `texts` are files, folders or globs (none: the bundled text); questions with known answers are the bundled ones.
    Both are Korean where `text_language` is "ko", else English; None is the language of `corpus`, or Korean where that
    says English, its default, and the texts are Korean. `budget` is seconds of wall-clock time for everything; `began`
    is when they started to count, as time.perf_counter() said (default: now). `init` is a BERT-type Hugging Face folder
    that `from_scratch` goes on from instead, which adds its own column. `question` is asked of the text at the end.
    `out` None takes "quickstart-out", or that name with a number where it is taken. `language` is that of the page
    (None: that of the questions). `seed` is that of the adaptation's masks and order.

    Raises: ConfigError, DataError, CheckpointError, FolderInUseError, InterruptedAndSaved, as the stages do.
    """
    if budget < LEAST_BUDGET:
        raise ConfigError(f"a budget of {budget:g} s is too short for all stages; give at least {LEAST_BUDGET:g} s.")
    if init is not None and not from_scratch:
        raise ConfigError(
            "--init goes on with a model in the way of --from-scratch, and the usual way adapts the model that ships; "
            "add --from-scratch, or adapt yours by `spanwise adapt MODEL TEXT --out DIR`."
        )
    clock = StageClock(budget, began)
    corpus, found = settle_language(texts, corpus or CorpusOptions(), text_language)
    of_questions: Language = "ko" if corpus.language == "ko" else "en"
    folder = free_folder() if out is None else Path(out)
    terminal = Terminal(console or Console())
    if folder.is_dir():
        refuse_full(folder)  # before a lock lies there
    with folder_lock(folder), open_bundle(of_questions) as bundle:
        refuse_full(folder)
        shared = Job(
            folder=folder,
            clock=clock,
            terminal=terminal,
            bundle=bundle,
            language=language or of_questions,
            text_language=found,
        )
        try:
            if from_scratch:
                return finish(shared, *FromScratch(**vars(shared)).run(texts, corpus, init, question))
            return finish(shared, *Adapting(**vars(shared), seed=seed).run(texts, corpus, question))
        except DataError:
            if not any((folder / name).exists() for name in (PRETRAINING_FOLDER, ADAPTATION_FOLDER)):
                for left in [path for path in folder.iterdir() if path.name != LOCK_NAME]:  # free for a corrected call
                    DISK.remove_tree(left) if left.is_dir() else DISK.remove_file(left)
            raise


def finish(job: Job, record: AnyRecord, model: Path, qa_model: Path) -> QuickstartResult:
    """Write result.json and report.html; the page is a function of the record."""
    with job.clock.stage("report"):
        page_of(timed(job, record))  # timed once, written with its own time in it
    record = timed(job, record)
    text = json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n"
    write_text_atomic(job.folder / RESULT_NAME, text)
    report = job.folder / REPORT_NAME
    write_text_atomic(report, page_of(record))
    job.terminal.say(f"\nDone in {job.clock.elapsed:.0f} of {job.clock.budget:.0f} s. The report: {report}")
    job.terminal.commands(record.commands)
    return QuickstartResult(folder=job.folder, report=report, model=model, qa_model=qa_model, record=record)


def timed(job: Job, record: AnyRecord) -> AnyRecord:
    """Return the record with the times so far, in values that JSON can keep."""
    found = replace(record, total_seconds=round(job.clock.elapsed, 2), stages=job.clock.stages())
    return read_record(json.dumps(finite(asdict(found))))


def read_record(text: str | bytes) -> AnyRecord:
    """Read the text of a result.json. Raises: ValueError where it is none, or one of another format than today's."""
    kept = decode_json(text)
    named = kept if isinstance(kept, dict) else {}
    if type(came := named.get("format", FORMAT)) is int and came != FORMAT:
        raise ValueError(f"format {came}, of another version of spanwise; this one reads {FORMAT}")
    return (ADAPTED_RECORD if named.get("way") == "adapted" else SCRATCH_RECORD).validate_python(kept)


def page_of(record: AnyRecord) -> str:
    """Return the HTML of a result."""
    return render(build_adapted_page(record) if isinstance(record, AdaptedRecord) else build_page(record))


def rewrite_report(folder: str | Path, out: str | Path | None = None) -> Path:
    """Write the page of a finished quickstart again, from its result.json. Raises: DataError."""
    source = Path(folder) / RESULT_NAME
    try:
        page = page_of(read_record(source.read_bytes()))
    except (OSError, ValueError) as cause:
        told = f"is no result of a quickstart that can be shown ({_reason(cause)})"
        raise DataError(f"{source} {told}; run spanwise quickstart again.") from cause
    report = Path(folder) / REPORT_NAME if out is None else Path(out)
    write_text_atomic(report, page)
    return report


def _reason(cause: OSError | ValueError) -> str:
    if isinstance(cause, pydantic.ValidationError):
        first = cause.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'all of it'}: {first['msg']}"
    return getattr(cause, "strerror", None) or str(cause)
