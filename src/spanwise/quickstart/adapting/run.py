"""Adapting the model that ships to a text: adapt, measure, fill, ask; each before and after, beside its controls.

Every stage is a function of the floors below or of `adapt/`; this file only sets their order, their share of the time,
and what is written down. Nothing that is measured was learned from, and the adaptation chose no step by it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from spanwise.adapt.options import AdaptationOptions, Length
from spanwise.adapt.record import AdaptationRecord
from spanwise.adapt.report import verdict
from spanwise.adapt.run import AdaptationResult, adapt
from spanwise.adapt.texts import FOLDER as TEXTS
from spanwise.adapt.texts import OWN, SourceText
from spanwise.data.prepare import prepare
from spanwise.interop.checkpoint import Checkpoint
from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.comparison import Measure
from spanwise.quickstart import learning
from spanwise.quickstart.adapting.asking import MARGIN, Asked, ask, own_answer, with_random_weights
from spanwise.quickstart.adapting.division import Needs, try_needs
from spanwise.quickstart.adapting.measured import Ruler, filled_before_and_after, make_ruler, three_columns, whole_spans
from spanwise.quickstart.adapting.record import AdaptationFacts, AdaptedRecord, QuestionFacts, TwoAnswers
from spanwise.quickstart.adapting.texts import (
    HELD_OUT_ONE_IN,
    AdaptedText,
    bundled_text,
    general_text,
    own_text,
    seconds_per_character,
)
from spanwise.quickstart.clock import LEAST_SECONDS, share_of
from spanwise.quickstart.commands import commands_after_adapting, resume_adaptation
from spanwise.quickstart.job import Done, Job, machine_facts
from spanwise.quickstart.questions import paragraphs_of
from spanwise.quickstart.record import FilledRecord
from spanwise.quickstart.texts_in import CorpusReader
from spanwise.runtime.progress import RunLog
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.qa.reader import read_questions
from spanwise.text.corpus import CorpusOptions, read_documents
from spanwise.text.tokenizers import Tokenizer
from spanwise.weights import SHIPPED_FOR

ADAPTATION_FOLDER = "adaptation"
GENERAL_BOUND = 0.05  # of the general loss: a text of another domain is learned at some cost, which the page says
PASSES = 3  # over all text before the first step: to divide it, to take what is kept out, and to encode the rest
SMALL_STEPS = ("batch.tokens_per_step=2048", "batch.max_tokens=2048")  # so that a slow machine makes steps enough
CALLED = {"init": "start", "trained": "adapted"}


@dataclass(frozen=True, kw_only=True)
class Adapting(Job):
    """The shipped model adapted: a method per stage, each returning its part of the record."""

    seed: int = 0

    def run(self, texts: Sequence[str | Path], options: CorpusOptions, question: str | None) -> Done[AdaptedRecord]:
        """Do all stages in their order; what one saved or overdrew is shared by the later ones."""
        name = SHIPPED_FOR[self.bundle.language]
        start = read_folder(name)
        assert start.tokenizer_folder is not None  # weights that ship have one
        tokenizer = Tokenizer.load(start.tokenizer_folder)
        text = self.read(texts, options, tokenizer)
        with self.clock.stage("adapt"):
            needs = try_needs(start, text.record.num_valid_tokens, read_questions(self.bundle.own_questions))
        later = needs.seconds(self.clock.left)
        result = self.adapt(name, text, tokenizer, sum(later.values()))
        ruler = make_ruler(start, text, self.folder / ADAPTATION_FOLDER / TEXTS / OWN, self.folder / "valid-store")
        columns = three_columns(ruler, start, result.final)
        seconds = share_of(self.clock.left, later, "measure")
        measured, measures, filled = self.measure(columns, ruler, seconds)
        asked = self.ask(start, result.final, text, question, needs)
        record = AdaptedRecord(
            text=text.record,
            adaptation=facts_of(result.record),
            num_hidden=measured.num_hidden,
            measures=measures,
            filled=filled,
            questions=QuestionFacts(
                of_text=text.record.source == "bundled",
                num_questions=asked.num_questions,
                num_passages=asked.num_passages,
                measures=asked.measures,
                answering=name,
            ),
            answers=asked.answers,
            commands=commands_after_adapting(
                result.final, own_text=bool(texts), start=name, language=self.bundle.language
            ),
            spanwise=version("spanwise"),
            language=self.language,
            budget_seconds=self.clock.budget,
            machine=machine_facts(ruler.recipe.training.precision),
            total_seconds=0.0,
            stages=[],
        )
        return Done(record=record, model=result.final, qa_model=result.final)

    def read(self, texts: Sequence[str | Path], options: CorpusOptions, tokenizer: Tokenizer) -> AdaptedText:
        """Keep a part of the text out, and say what to expect."""
        self.terminal.heading(1, "Read the text, and keep a part of it out")
        with self.clock.stage("text"):
            if texts:
                reader = CorpusReader(texts, self.bundle, options, self.clock.budget, HELD_OUT_ONE_IN)
                text = own_text(reader, self.text_language, self.bundle, self.folder / "text")
            else:
                text = bundled_text(self.bundle)
            report = prepare(read_documents(text.kept_out, text.options), tokenizer, self.folder / "valid-store")
        record = text.record
        self.terminal.say(
            f"{record.num_characters:,} characters to learn from, in {record.num_documents:,} documents or parts of "
            f"them; {report.num_documents:,} others ({report.num_tokens:,} tokens) are kept out for measuring."
        )
        for note in record.notes:
            self.terminal.say(note)
        return replace(text, record=replace(record, num_valid_tokens=report.num_tokens))

    def adapt(self, name: str, text: AdaptedText, tokenizer: Tokenizer, later: float) -> AdaptationResult:
        """Go on with the shipped model on the text and some general text; leave `later` seconds for what follows."""
        general = self.folder / "text" / "general.txt"
        with self.clock.stage("adapt"):
            characters = general_text(self.bundle, self.clock.budget, general, text.options)
            characters += text.record.num_characters
            # General text is long enough to time; what is kept out of a short text tells of fixed costs alone.
            preparing = PASSES * characters * seconds_per_character(general, text.options, tokenizer)
        seconds = round(max(LEAST_SECONDS, self.clock.left - preparing - later))
        self.terminal.heading(2, f"Adapt {name} to it", seconds)
        out = self.folder / ADAPTATION_FOLDER

        def log(folder: Path) -> RunLog:
            return RunLog(folder, stream=self.terminal.console.file)

        options = AdaptationOptions(length=Length(seconds=seconds), general_bound=GENERAL_BOUND, seed=self.seed)
        with self.clock.stage("adapt"):
            result = adapt(
                name,
                [text.learned],
                out=out,
                general=SourceText(
                    name="bundled Wikipedia", texts=[general], corpus=text.options, origin=self.bundle.text_origin
                ),
                options=options,
                corpus=text.options,
                overrides=SMALL_STEPS,
                log=log,
                resume_command=resume_adaptation(name, text, general, out, options, SMALL_STEPS),
                origins=[text.origin],
            )
        if result.record.outcome == "unchanged":
            for line in (*result.record.notes, verdict(result.record)[-1]):
                self.terminal.say(line)
        return result

    def measure(
        self, columns: learning.Columns, ruler: Ruler, seconds: float
    ) -> tuple[learning.Measured, list[Measure], list[FilledRecord]]:
        """Measure the start, the adapted model and their controls on what was kept out, and fill gaps in it."""
        self.terminal.heading(3, "Hidden words of text that it never saw, before and after", seconds)
        with self.clock.stage("measure"):
            measured = learning.measure_columns(columns, ruler.recipe, ruler.prepared, seconds)
            measures = [*measured.comparison.measures, whole_spans(measured)]
            filled = filled_before_and_after(columns, ruler)
        self.terminal.measures(measures, over="init", called=CALLED)
        if filled:
            self.terminal.filled(filled[0])
        return measured, measures, filled

    def ask(self, start: Checkpoint, adapted: Path, text: AdaptedText, question: str | None, needs: Needs) -> Asked:
        """Ask what is known to have an answer, before and after, and a person's own question."""
        seconds = max(LEAST_SECONDS, self.clock.left)
        num_questions = int(seconds / MARGIN / needs.per_question)
        about = "passages of the text that it never saw" if text.record.source == "bundled" else "the bundled passages"
        self.terminal.heading(4, f"Questions about {about}, before and after", min(seconds, needs.ask))
        with self.clock.stage("ask"):
            before = load_task_model(start.folder, "qa")
            models = {
                "init": before,
                "trained": load_task_model(adapted, "qa"),
                "control": with_random_weights(before, start),
            }
            asked = ask(models, read_questions(self.bundle.own_questions), self.bundle.language, num_questions)
            own: TwoAnswers | None = None
            if question is not None:
                own = own_answer(question, paragraphs(text), models["init"], models["trained"])
                if own is None:
                    self.terminal.say(f"No paragraph shares a word with your question: {question}")
        self.terminal.measures(asked.measures, over="init", called=CALLED)
        asked = replace(asked, answers=[*([own] if own else []), *asked.answers])
        if asked.answers:
            self.terminal.answer(asked.answers[0].after, asked.answers[0].before)
        return asked


def paragraphs(text: AdaptedText) -> list[str]:
    """Return where a person's question is looked up, the text that was kept out first."""
    files = (text.kept_out, text.learned)
    return paragraphs_of(document for file in files for document in read_documents(file, text.options))


def facts_of(record: AdaptationRecord) -> AdaptationFacts:
    """Return what the page says of how an adaptation went."""
    return AdaptationFacts(
        start=record.start,
        is_adapted=record.outcome == "adapted",
        kept_step=record.kept_step,
        kept_share=record.kept.share if record.kept else 1.0,
        num_steps=record.num_steps,
        num_tokens=record.num_tokens,
        num_own_tokens=record.own_text.num_tokens,
        general_before=record.before.general.loss,
        general_after=record.after.general.loss,
    )
