"""The main job: from text to a small SpanBERT, an answered question and a report, inside a budget of minutes.

Every stage is a function of the floors below; this file only sets their order, their share of the time, and what is
written down. Nothing is hidden from the measures: each number stands beside the same network with random weights.
"""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import torch
from rich.console import Console

from spanwise.errors import ConfigError, DataError
from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.pretraining.run import pretrain
from spanwise.quickstart import learning, questions
from spanwise.quickstart.bundle import BundledCorpus, BundleLanguage, open_bundle
from spanwise.quickstart.clock import StageClock, share
from spanwise.quickstart.commands import next_commands, resume_command
from spanwise.quickstart.language import ToldLanguage, language_note, settle_language
from spanwise.quickstart.page import build_page
from spanwise.quickstart.terminal import Terminal
from spanwise.quickstart.texts_in import CorpusReader, Prepared, learn_vocabulary, parts_of, prepare_stores
from spanwise.reporting.page import render
from spanwise.reporting.runs import read_run
from spanwise.reporting.spans import join_pieces
from spanwise.runtime.device import choose_device, resolve_precision
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.lock import LOCK_NAME, folder_lock
from spanwise.runtime.machine import num_usable_cores
from spanwise.runtime.progress import RunLog, finite
from spanwise.tasks.qa.reader import read_squad
from spanwise.text.corpus import CorpusOptions
from spanwise.text.tokenizers import Tokenizer

DEFAULT_BUDGET = 480.0  # seconds
LEAST_BUDGET = 10.0
DEFAULT_OUT = "quickstart-out"
RESULT_NAME = "result.json"
PRETRAINING_FOLDER = "pretraining"
REPORT_NAME = "report.html"
MOST_PARAGRAPHS = 20_000  # searched for the paragraph of a person's question


@dataclass(frozen=True, kw_only=True)
class QuickstartResult:
    """Where everything lies, and the record that result.json holds."""

    folder: Path
    report: Path
    model: Path  # the pre-trained model
    qa_model: Path  # fine-tuned for questions
    record: dict[str, Any]


def quickstart(
    texts: Sequence[str | Path] = (),
    *,
    out: str | Path | None = None,
    budget: float = DEFAULT_BUDGET,
    init: str | Path | None = None,
    question: str | None = None,
    language: Literal["en", "ko"] | None = None,
    text_language: str | None = None,
    corpus: CorpusOptions | None = None,
    console: Console | None = None,
    began: float | None = None,
) -> QuickstartResult:
    """Run all stages and return what came of them.

    `texts` are files, folders or globs (none: the bundled corpus); questions are always the bundled ones. Both are
    Korean where `text_language` is "ko", else English; None is the language of `corpus`, or Korean where that says
    English, its default, and the texts are Korean. `budget` is seconds of wall-clock time for everything; `began` is
    when they started to count, as time.perf_counter() said (default: now). `init` is a BERT-type Hugging Face folder to
    go on from, which adds its own column. `question` is asked of the text at the end. `out` None takes
    "quickstart-out", or that name with a number where it is taken. `language` is that of the page (None: that of the
    questions).

    Raises: ConfigError, DataError, CheckpointError, FolderInUseError, InterruptedAndSaved, as the stages do.
    """
    if budget < LEAST_BUDGET:
        raise ConfigError(f"a budget of {budget:g} s is too short for all stages; give at least {LEAST_BUDGET:g} s.")
    clock = StageClock(budget, began)
    corpus, told = settle_language(texts, corpus or CorpusOptions(), text_language)
    asked: BundleLanguage = "ko" if corpus.language == "ko" else "en"
    folder = free_folder() if out is None else Path(out)
    terminal = Terminal(console or Console())
    with folder_lock(folder), open_bundle(asked) as bundle:
        refuse_full(folder)
        job = _Job(folder, clock, terminal, bundle, language or asked, told)
        try:
            return job.run(texts, corpus, init, question)
        except DataError:
            if not (folder / PRETRAINING_FOLDER).exists():  # nothing to keep: the corrected call may use the folder
                for left in [path for path in folder.iterdir() if path.name != LOCK_NAME]:
                    shutil.rmtree(left) if left.is_dir() else left.unlink()
            raise


class _Job:
    """One quickstart in progress."""

    def __init__(
        self,
        folder: Path,
        clock: StageClock,
        terminal: Terminal,
        bundle: BundledCorpus,
        language: Literal["en", "ko"],
        told: ToldLanguage | None,
    ) -> None:
        self.folder, self.clock, self.terminal, self.bundle, self.language = folder, clock, terminal, bundle, language
        self.told = told  # the language of a person's own text, None of the bundled one
        self.record: dict[str, Any] = {}

    def run(
        self, texts: Sequence[str | Path], options: CorpusOptions, init: str | Path | None, question: str | None
    ) -> QuickstartResult:
        note = language_note(self.told, self.bundle.language)
        if note:
            self.terminal.say(note)
        checkpoint = None if init is None else read_folder(init)
        if checkpoint is not None:
            checkpoint.check_native("pre-training")
        recipe = learning.quickstart_recipe(checkpoint, self.bundle.language)
        reader = CorpusReader(texts, self.bundle, options, self.clock.budget)
        prepared = self.prepare(reader, recipe, None if checkpoint is None else checkpoint.tokenizer_folder)
        self.show_masks(recipe, prepared)
        columns_asked = 2 if init is None else 3
        final = self.pretrain(recipe, prepared, init, share(self.clock.left, "pretrain", columns_asked))
        columns = learning.make_columns(recipe, prepared, final, checkpoint)
        done = ["pretrain"]
        self.measure(columns, recipe, prepared, share(self.clock.left, "measure", columns_asked, done=done))
        control = self.folder / "random-weights"
        learning.save_control(columns, prepared, control)
        starts = {"trained": final, "control": control}
        if init is not None:
            starts["init"] = Path(read_folder(init).folder)
        done.append("measure")
        a_column = share(self.clock.left, "finetune", len(starts), done=done)
        qa_finals = self.finetune(starts, a_column, is_given=init is not None)
        done.append("finetune")
        self.ask(qa_finals, share(self.clock.left, "score", len(starts), done=done), reader, question)
        self.record["commands"] = next_commands(
            self.folder, final, qa_finals["trained"], bool(texts), self.bundle.language
        )
        report = self.write(recipe)
        self.terminal.commands(self.record["commands"])
        return QuickstartResult(
            folder=self.folder, report=report, model=final, qa_model=qa_finals["trained"], record=self.record
        )

    def prepare(self, reader: CorpusReader, recipe: PretrainingRecipe, tokenizer_folder: Path | None) -> Prepared:
        is_learned = tokenizer_folder is None
        self.terminal.heading(1, f"{'Learn a vocabulary and prepare' if is_learned else 'Prepare'} the text")
        with self.clock.stage("tokenizer"):
            if tokenizer_folder is not None:
                tokenizer = Tokenizer.load(tokenizer_folder)
            else:
                tokenizer = learn_vocabulary(
                    reader,
                    self.folder / "tokenizer",
                    vocab_size=recipe.tokenizer.vocab_size,
                    max_length=recipe.encoder.max_positions,
                )
        with self.clock.stage("prepare"):
            prepared, report = prepare_stores(reader, tokenizer, self.folder)
        self.terminal.say(
            f"{tokenizer.vocab_size:,} word pieces; {report.num_tokens:,} tokens of {report.num_documents:,} documents "
            f"to read, {prepared.valid.num_tokens:,} tokens kept out for measuring."
        )
        if prepared.is_cut:
            self.terminal.say(
                f"Your text is longer than this budget can read: the first {reader.max_characters:,} characters are "
                "used. A longer --budget takes more."
            )
        self.record["corpus"] = {
            "source": prepared.source,
            "bundle": self.bundle.language,
            "language": self.told,
            "num_documents": report.num_documents,
            "num_tokens": report.num_tokens,
            "num_valid_documents": prepared.valid.num_documents,
            "num_valid_tokens": prepared.valid.num_tokens,
            "unknown_share": report.unknown_share,
            "is_cut": prepared.is_cut,
            "is_vocabulary_learned": is_learned,
        }
        return prepared

    def show_masks(self, recipe: PretrainingRecipe, prepared: Prepared) -> None:
        self.terminal.heading(2, "Hide spans of whole words")
        with self.clock.stage("masks"):
            pieces = learning.masked_paragraph(recipe, prepared)
        num_hidden = sum(piece.span is not None for piece in pieces)
        num_spans = len({piece.span for piece in pieces} - {None})
        self.terminal.paragraph(pieces, f"{num_hidden} of {len(pieces)} tokens hidden, in {num_spans} spans")
        self.record["masks"] = {
            "runs": [run.__dict__ for run in join_pieces(pieces)],
            "num_hidden": num_hidden,
            "num_tokens": len(pieces),
            "num_spans": num_spans,
        }

    def pretrain(self, recipe: PretrainingRecipe, prepared: Prepared, init: str | Path | None, seconds: float) -> Path:
        self.terminal.heading(3, "Pre-train: MLM and the span boundary objective", seconds)
        out = self.folder / PRETRAINING_FOLDER
        seconds = max(1, round(seconds))  # as the command that goes on with it says
        with self.clock.stage("pretrain"), RunLog(out, stream=self.terminal.console.file) as log:
            result = pretrain(
                recipe,
                out=out,
                data=prepared.train.path,
                valid=prepared.valid.path,
                init=init,
                budget=seconds,
                log=log,
                resume_command=resume_command(recipe, prepared, out, seconds, init),
            )
        run = read_run(out)
        train_tokens, valid_tokens = run.curve("mlm")[0], run.evaluation_curve("mlm_loss")[0]
        self.record["pretraining"] = {
            "num_steps": result.steps,
            "num_tokens": result.tokens,
            "num_epochs": result.tokens / max(1, prepared.train.num_tokens),
            "tokens_per_second": run.tokens_per_second,
            "curve": {"tokens": train_tokens, **{name: run.curve(name)[1] for name in run.loss_names}},
            "valid_curve": {
                "tokens": valid_tokens,
                **{name: run.evaluation_curve(f"{name}_loss")[1] for name in run.loss_names},
            },
        }
        return result.final

    def measure(self, columns: learning.Columns, recipe: PretrainingRecipe, prepared: Prepared, seconds: float) -> None:
        self.terminal.heading(4, "Measure on text that was kept out", seconds)
        with self.clock.stage("measure"):
            comparison, masks, filled, num_hidden = learning.measure_columns(columns, recipe, prepared, seconds)
        config = columns.trained.encoder.config
        self.record["masks"] |= {"lengths": masks["lengths"], "spans": masks["spans"]}
        self.record |= {
            "num_hidden": num_hidden,
            "measures": comparison.measures,
            "by_distance": {"mlm": [], "sbo": [], **comparison.by_distance},
            "filled": filled,
            "model": {
                "recipe": recipe.name,
                "num_layers": config.num_layers,
                "hidden_size": config.hidden_size,
                "num_heads": config.num_heads,
                "vocab_size": config.vocab_size,
                "num_parameters": sum(parameter.numel() for parameter in columns.trained.parameters()),
            },
        }
        self.terminal.measures(comparison.measures)
        self.terminal.filled(filled)

    def finetune(self, starts: dict[str, Path], seconds: float, *, is_given: bool) -> dict[str, Path]:
        """Fine-tune every column on the same questions for the same number of steps."""
        self.terminal.heading(5, "Teach it to answer questions, and the random weights too", seconds * len(starts))
        with self.clock.stage("finetune"):
            data = read_squad(self.bundle.qa_train)
            file = self.folder / "qa-train.json"
            plan = questions.plan_finetuning(
                starts["trained"], data, self.bundle.qa_train, file, seconds, is_given=is_given
            )
        finals = {}
        for name, model in starts.items():
            stage = "finetune" if name == "trained" else f"finetune_{name}"
            out = self.folder / f"qa-{name}"
            with self.clock.stage(stage), RunLog(out, stream=self.terminal.console.file) as log:
                finals[name] = questions.finetune_column(model, plan, out, is_given=is_given, log=log)
        self.record["qa"] = {"num_train_questions": plan.num_questions, "num_steps": plan.steps}
        return finals

    def ask(self, finals: dict[str, Path], seconds: float, reader: CorpusReader, question: str | None) -> None:
        self.terminal.heading(6, "Ask about articles it never saw", seconds)
        with self.clock.stage("score"):
            dev = read_squad(self.bundle.qa_dev)
            scored = questions.score_columns(questions.with_shipped(finals, self.bundle.language), dev, seconds)
            answers = questions.confident_answers(scored)
            if question is not None:
                paragraphs = self.paragraphs(reader, dev.contexts)
                found = questions.answer_question(question, paragraphs, scored.answering)
                if found is None:
                    self.terminal.say(f"No paragraph shares a word with your question: {question}")
                else:
                    answers.insert(0, found)
        self.record["qa"] |= {
            "num_dev_questions": len(dev.questions),
            "num_scored_questions": len(scored.data.questions),
            "num_dev_articles": len(set(dev.titles)),
            "measures": scored.measures,
            "answered_by": scored.column,
            "shipped": questions.SHIPPED.get(self.bundle.language),
        }
        self.record["answers"] = answers
        self.terminal.measures(scored.measures)
        if answers:
            self.terminal.answer(answers[0])

    def paragraphs(self, reader: CorpusReader, contexts: Sequence[str]) -> list[str]:
        """Where a person's question is looked up: their own text, else the bundled paragraphs."""
        found = [] if reader.texts else list(contexts)
        for held_out in (True, False):
            for part in parts_of(reader.documents(held_out=held_out)):
                if len(found) >= MOST_PARAGRAPHS:
                    return found
                found.append(" ".join(part.sentences))
        return found

    def write(self, recipe: PretrainingRecipe) -> Path:
        """result.json and report.html; the page is a function of the result."""
        self.record |= {
            "format": 1,
            "spanwise": version("spanwise"),
            "language": self.language,
            "budget_seconds": self.clock.budget,
            "machine": machine_facts(recipe),
        }
        with self.clock.stage("report"):
            self.finish()
            render(build_page(self.record))  # timed once, written with its own time in it
        self.finish()
        write_text_atomic(self.folder / RESULT_NAME, json.dumps(self.record, indent=1, ensure_ascii=False) + "\n")
        report = self.folder / REPORT_NAME
        write_text_atomic(report, render(build_page(self.record)))
        self.terminal.say(f"\nDone in {self.clock.elapsed:.0f} of {self.clock.budget:.0f} s. The report: {report}")
        return report

    def finish(self) -> None:
        self.record["total_seconds"] = round(self.clock.elapsed, 2)
        self.record["stages"] = self.clock.record()
        self.record = finite(self.record)


def rewrite_report(folder: str | Path, out: str | Path | None = None) -> Path:
    """Write the page of a finished quickstart again, from its result.json. Raises: DataError."""
    source = Path(folder) / RESULT_NAME
    try:
        record = json.loads(source.read_text(encoding="utf-8"))
        page = render(build_page(record))
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise DataError(f"{source} is no result of a quickstart ({cause!r}); run spanwise quickstart again.") from cause
    report = Path(folder) / REPORT_NAME if out is None else Path(out)
    write_text_atomic(report, page)
    return report


def free_folder() -> Path:
    """The default folder, with a number where the name is taken."""
    folder, number = Path(DEFAULT_OUT), 1
    while folder.exists() and any(path.name != LOCK_NAME for path in folder.iterdir()):
        number += 1
        folder = Path(f"{DEFAULT_OUT}-{number}")
    return folder


def refuse_full(folder: Path) -> None:
    """Raises: ConfigError where the folder holds anything."""
    found = sorted(path.name for path in folder.iterdir() if path.name != LOCK_NAME)
    if found:
        raise ConfigError(f"{folder} is not empty ({', '.join(found[:3])}); give a new folder with --out.")


def machine_facts(recipe: PretrainingRecipe) -> dict[str, Any]:
    """What the page says about the machine."""
    device = choose_device(None)
    return {
        "processor": processor_name(),
        "cores": num_usable_cores(),
        "threads": torch.get_num_threads(),
        "device": str(device),
        "precision": resolve_precision(recipe.training.precision, device),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }


def processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
