"""A model from nothing: from text to a small SpanBERT and an answered question, inside a budget of minutes.

Every stage is a function of the floors below; this file only sets their order, their share of the time, and what is
written down. Nothing is hidden from the measures: each number stands beside the same network with random weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.pretraining.run import pretrain
from spanwise.quickstart import learning, questions
from spanwise.quickstart.clock import share
from spanwise.quickstart.commands import next_commands, resume_command
from spanwise.quickstart.job import Done, Job, machine_facts
from spanwise.quickstart.language import language_note
from spanwise.quickstart.record import (
    AnswerRecord,
    CorpusRecord,
    FilledRecord,
    MasksRecord,
    ModelRecord,
    PretrainingRecord,
    QuestionsRecord,
    QuickstartRecord,
)
from spanwise.quickstart.texts_in import CorpusReader, Prepared, learn_vocabulary, prepare_stores
from spanwise.reporting.runs import read_run
from spanwise.reporting.spans import join_pieces
from spanwise.runtime.progress import RunLog
from spanwise.tasks.qa.reader import read_questions
from spanwise.text.corpus import CorpusOptions
from spanwise.text.tokenizers import Tokenizer
from spanwise.weights import SHIPPED_FOR
from spanwise.weights.learned_from import Origin

PRETRAINING_FOLDER = "pretraining"


@dataclass(frozen=True, kw_only=True)
class FromScratch(Job):
    """A model from nothing: a method per stage, each returning its part of the record."""

    def run(
        self, texts: Sequence[str | Path], options: CorpusOptions, init: str | Path | None, question: str | None
    ) -> Done[QuickstartRecord]:
        """Do all stages in their order; what one saved or overdrew is shared by the later ones.

        `init` is a BERT-type folder to go on from, which adds its own column.
        """
        if note := language_note(self.text_language, self.bundle.language):
            self.terminal.say(note)
        checkpoint = None if init is None else read_folder(init)
        if checkpoint is not None:
            checkpoint.check_native("pre-training")
        recipe = learning.quickstart_recipe(checkpoint, self.bundle.language)
        reader = CorpusReader(texts, self.bundle, options, self.clock.budget)
        prepared, corpus = self.prepare(reader, recipe, None if checkpoint is None else checkpoint.tokenizer_folder)
        masks = self.show_masks(recipe, prepared)
        num_columns = 2 if checkpoint is None else 3
        origin = Origin().named(texts) if texts else self.bundle.text_origin
        final = self.pretrain(recipe, prepared, init, origin, share(self.clock.left, "pretrain", num_columns))
        columns = learning.make_columns(recipe, prepared, final, checkpoint)
        measured, filled = self.measure(
            columns, recipe, prepared, share(self.clock.left, "measure", num_columns, done=["pretrain"])
        )
        starts = {"trained": final, "control": self.folder / "random-weights"}
        learning.save_control(columns, prepared, starts["control"])
        if checkpoint is not None:
            starts["init"] = Path(checkpoint.folder)
        a_column = share(self.clock.left, "finetune", num_columns, done=["pretrain", "measure"])
        plan, qa_finals = self.finetune(starts, a_column, is_given=checkpoint is not None)
        left = share(self.clock.left, "score", num_columns, done=["pretrain", "measure", "finetune"])
        qa, answers = self.ask(plan, qa_finals, left, reader, question)
        of_text = bool(texts)
        record = QuickstartRecord(
            corpus=corpus,
            masks=replace(masks, lengths=measured.lengths, spans=measured.spans),
            pretraining=pretraining_record(self.folder / PRETRAINING_FOLDER, prepared),
            num_hidden=measured.num_hidden,
            measures=measured.comparison.measures,
            by_distance=measured.comparison.by_distance,
            filled=filled,
            model=model_record(recipe, columns),
            qa=qa,
            answers=answers,
            commands=next_commands(self.folder, final, qa_finals["trained"], of_text, self.bundle.language),
            spanwise=version("spanwise"),
            language=self.language,
            budget_seconds=self.clock.budget,
            machine=machine_facts(recipe.training.precision),
            total_seconds=0.0,
            stages=[],
        )
        return Done(record=record, model=final, qa_model=qa_finals["trained"])

    def prepare(
        self, reader: CorpusReader, recipe: PretrainingRecipe, tokenizer_folder: Path | None
    ) -> tuple[Prepared, CorpusRecord]:
        """Learn the vocabulary, or take a given one, and write both stores."""
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
        return prepared, CorpusRecord(
            source=prepared.source,
            bundle=self.bundle.language,
            language=self.text_language,
            num_documents=report.num_documents,
            num_tokens=report.num_tokens,
            num_valid_documents=prepared.valid.num_documents,
            num_valid_tokens=prepared.valid.num_tokens,
            unknown_share=report.unknown_share,
            is_cut=prepared.is_cut,
            is_vocabulary_learned=is_learned,
        )

    def show_masks(self, recipe: PretrainingRecipe, prepared: Prepared) -> MasksRecord:
        """Show a paragraph as the network will see it."""
        self.terminal.heading(2, "Hide spans of whole words")
        with self.clock.stage("masks"):
            pieces = learning.masked_paragraph(recipe, prepared)
        num_hidden = sum(piece.span is not None for piece in pieces)
        num_spans = len({piece.span for piece in pieces} - {None})
        self.terminal.paragraph(pieces, f"{num_hidden} of {len(pieces)} tokens hidden, in {num_spans} spans")
        return MasksRecord(runs=join_pieces(pieces), num_hidden=num_hidden, num_tokens=len(pieces), num_spans=num_spans)

    def pretrain(
        self, recipe: PretrainingRecipe, prepared: Prepared, init: str | Path | None, origin: Origin, seconds: float
    ) -> Path:
        """Pre-train for so many seconds, and return the folder of the model."""
        self.terminal.heading(3, "Pre-train: MLM and the span boundary objective", seconds)
        out = self.folder / PRETRAINING_FOLDER
        seconds = max(1, round(seconds))  # as the command that goes on with it says
        with self.clock.stage("pretrain"), RunLog(out, stream=self.terminal.console.file) as log:
            return pretrain(
                recipe,
                out=out,
                data=prepared.train.path,
                valid=prepared.valid.path,
                init=init,
                origins=[origin],
                budget=seconds,
                log=log,
                resume_command=resume_command(recipe, prepared, out, seconds, init, origin),
            ).final

    def measure(
        self, columns: learning.Columns, recipe: PretrainingRecipe, prepared: Prepared, seconds: float
    ) -> tuple[learning.Measured, FilledRecord]:
        """Measure all columns on held-out text, and fill a sentence of it."""
        self.terminal.heading(4, "Measure on text that was kept out", seconds)
        with self.clock.stage("measure"):
            measured = learning.measure_columns(columns, recipe, prepared, seconds)
            filled = learning.filled_sentence(columns, measured.packs, prepared)
        self.terminal.measures(measured.comparison.measures)
        self.terminal.filled(filled)
        return measured, filled

    def finetune(
        self, starts: dict[str, Path], seconds: float, *, is_given: bool
    ) -> tuple[questions.FinetuningPlan, dict[str, Path]]:
        """Fine-tune every column on the same questions for the same number of steps."""
        self.terminal.heading(5, "Teach it to answer questions, and the random weights too", seconds * len(starts))
        with self.clock.stage("finetune"):
            data = read_questions(self.bundle.qa_train)
            file = self.folder / "qa-train.json"
            plan = questions.plan_finetuning(
                starts["trained"], data, self.bundle.qa_train, file, seconds, is_given=is_given
            )
        finals = {}
        for name, model in starts.items():
            stage = "finetune" if name == "trained" else f"finetune_{name}"
            out = self.folder / f"qa-{name}"
            with self.clock.stage(stage), RunLog(out, stream=self.terminal.console.file) as log:
                finals[name] = questions.finetune_column(
                    model, plan, out, is_given=is_given, origin=self.bundle.question_origin, log=log
                )
        return plan, finals

    def ask(
        self,
        plan: questions.FinetuningPlan,
        finals: dict[str, Path],
        seconds: float,
        reader: CorpusReader,
        question: str | None,
    ) -> tuple[QuestionsRecord, list[AnswerRecord]]:
        """Ask all columns about articles that they never saw, and answer a person's own question."""
        self.terminal.heading(6, "Ask about articles it never saw", seconds)
        with self.clock.stage("score"):
            dev = read_questions(self.bundle.qa_dev)
            scored = questions.score_columns(questions.with_shipped(finals, self.bundle.language), dev, seconds)
            answers = questions.confident_answers(scored)
            if question is not None:
                found = questions.answer_question(question, paragraphs(reader, dev.contexts), scored.answering)
                if found is None:
                    self.terminal.say(f"No paragraph shares a word with your question: {question}")
                answers = [*([found] if found else []), *answers]
        self.terminal.measures(scored.measures)
        if answers:
            self.terminal.answer(answers[0])
        record = QuestionsRecord(
            num_train_questions=plan.num_questions,
            num_steps=plan.steps,
            num_dev_questions=len(dev.questions),
            num_scored_questions=len(scored.data.questions),
            num_dev_articles=len(set(dev.titles)),
            measures=scored.measures,
            answered_by=scored.column,
            shipped=SHIPPED_FOR.get(self.bundle.language),
        )
        return record, answers


def paragraphs(reader: CorpusReader, contexts: Sequence[str]) -> list[str]:
    """Return where a person's question is looked up: their own text, else the bundled paragraphs."""
    found = [] if reader.texts else list(contexts)
    parts = (True, False)  # what was kept out comes first
    return found + questions.paragraphs_of(document for part in parts for document in reader.documents(held_out=part))


def pretraining_record(out: Path, prepared: Prepared) -> PretrainingRecord:
    """Read from its log how a run went."""
    run = read_run(out)
    last = run.steps[-1]
    curves = {name: run.curve(name)[1] for name in run.loss_names}
    valid_curves = {name: run.evaluation_curve(f"{name}_loss")[1] for name in run.loss_names}
    return PretrainingRecord(
        num_steps=last["step"],
        num_tokens=last["tokens"],
        num_epochs=last["tokens"] / max(1, prepared.train.num_tokens),
        tokens_per_second=run.tokens_per_second,
        curve={"tokens": run.curve("mlm")[0], **curves},
        valid_curve={"tokens": run.evaluation_curve("mlm_loss")[0], **valid_curves},
    )


def model_record(recipe: PretrainingRecipe, columns: learning.Columns) -> ModelRecord:
    """Return the size of the trained network."""
    config = columns.trained.encoder.config
    return ModelRecord(
        recipe=recipe.name,
        num_layers=config.num_layers,
        hidden_size=config.hidden_size,
        num_heads=config.num_heads,
        vocab_size=config.vocab_size,
        num_parameters=sum(parameter.numel() for parameter in columns.trained.parameters()),
    )
