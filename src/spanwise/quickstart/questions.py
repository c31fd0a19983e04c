"""The question side of the quickstart: fine-tune every column alike, score on unseen articles, answer."""

import itertools
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from spanwise.asking.term_weights import nearest_passages
from spanwise.data.held_out import parts_of
from spanwise.interop.checkpoint import Checkpoint, build_encoder
from spanwise.interop.huggingface import read_folder
from spanwise.interop.token_types import with_token_types
from spanwise.pretraining.comparison import Measure, compare_columns
from spanwise.quickstart.record import AnswerRecord
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.progress import RunLog
from spanwise.tasks.base import Features
from spanwise.tasks.batches import EpochBatches
from spanwise.tasks.checkpoint import LoadedTask, load_task_model, open_tokenizer
from spanwise.tasks.heads import new_head
from spanwise.tasks.model import TaskModel
from spanwise.tasks.qa.data import Question, SquadData, as_data
from spanwise.tasks.qa.ranking import Predictions, SpanAnswer
from spanwise.tasks.qa.score import raw_scores
from spanwise.tasks.qa.task import QuestionAnswering
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.tasks.run import finetune
from spanwise.text.corpus import Document
from spanwise.training.plan import TrainingOptions
from spanwise.weights import SHIPPED_FOR, shipped_folder
from spanwise.weights.learned_from import Origin

BATCH_SIZE = 16
MAX_LENGTH = 256  # tokens of a window: most paragraphs of the bundled questions fit
TIMED_QUESTIONS = 48
MOST_EPOCHS = 4
HANDFUL = 24  # unseen questions among which the most confident answers are shown
SHOWN_ANSWERS = 3
MOST_PARAGRAPHS = 20_000  # searched for the paragraph of a person's question
SHIPPED_COLUMN = "shipped"
COLUMN_ORDER = ("control", "init", "trained", SHIPPED_COLUMN)
SMALL = 128  # hidden sizes up to this train no faster on two threads, and much slower where other work shares the cores


def question_recipe(hidden_size: int, max_positions: int, steps: int, *, is_given: bool) -> FinetuningRecipe:
    """Return the same values for every column. Small encoders learn at larger rates, and are told which words question
    and passage share; given weights are moved gently."""
    rate = 1e-4 if is_given else min(1e-3, 0.128 / hidden_size)
    length = min(MAX_LENGTH, max_positions)
    return FinetuningRecipe(
        task=QuestionAnswering(
            max_length=length,
            doc_stride=length // 2,
            max_question_tokens=min(64, length // 3),
            shared_words="unmarked" if is_given else "marked",  # said, for "auto" leaves random weights without
        ),
        training=TrainingOptions(
            learning_rate=rate,
            warmup_steps=0.1,
            max_steps=steps,
            log_every=10,
            keep=1,
            threads=1 if hidden_size <= SMALL else None,
        ),
        batch_size=BATCH_SIZE,
        hidden_dropout=0.1,
    )


def subset(data: SquadData, num_questions: int) -> SquadData:
    """Return so many questions, spread evenly over the file."""
    if num_questions >= len(data.questions):
        return data
    chosen = np.linspace(0, len(data.questions) - 1, num_questions).astype(int)
    return replace(data, questions=tuple(data.questions[index] for index in np.unique(chosen)))


@dataclass(frozen=True, kw_only=True)
class FinetuningPlan:
    """How long every column is fine-tuned, and on which file."""

    steps: int
    num_questions: int
    file: Path


def plan_finetuning(
    model: Path, data: SquadData, file: Path, out: Path, seconds: float, *, is_given: bool
) -> FinetuningPlan:
    """Time a few steps and choose how many fit into the seconds of one column; a part of the questions is written to
    `out` where not all of them are reached."""
    checkpoint = read_folder(model)
    recipe = question_recipe(checkpoint.config.hidden_size, checkpoint.config.max_positions, 1, is_given=is_given)
    checkpoint = with_token_types(checkpoint, recipe.task.new_token_types(checkpoint))
    sample, tokenizer = subset(data, TIMED_QUESTIONS), open_tokenizer(checkpoint, None)
    recipe.task.featurize(subset(data, 2), tokenizer, checkpoint.config, training=True)  # compiles on the first call
    began = time.perf_counter()
    features = recipe.task.featurize(sample, tokenizer, checkpoint.config, training=True)
    per_question = (time.perf_counter() - began) / len(sample.questions)
    per_step = time_steps(checkpoint, recipe, features)
    windows = len(features) / len(sample.questions)
    # questions are read once, and seen in windows: with few steps only the questions they reach are prepared
    left = 0.9 * seconds - 0.5
    steps = int(left / (per_step + per_question * BATCH_SIZE / windows))
    num_questions = int(steps * BATCH_SIZE / windows)
    if num_questions >= len(data.questions):
        num_questions = len(data.questions)
        steps = int((left - per_question * num_questions) / per_step)
    steps = max(2, min(steps, int(MOST_EPOCHS * num_questions * windows / BATCH_SIZE)))
    num_questions = max(BATCH_SIZE, num_questions)
    if num_questions < len(data.questions):
        write_text_atomic(out, squad_json(subset(data, num_questions)))
        file = out
    return FinetuningPlan(steps=steps, num_questions=num_questions, file=file)


def time_steps(checkpoint: Checkpoint, recipe: FinetuningRecipe, features: Features) -> float:
    """Return the seconds of one forward and backward, after a first one that is not counted."""
    if recipe.training.threads is not None:
        torch.set_num_threads(recipe.training.threads)  # as the training will
    encoder = build_encoder(checkpoint)
    model = TaskModel(recipe.task, encoder, new_head(checkpoint, recipe.task, encoder, seed=0))
    source = EpochBatches(features, batch_size=BATCH_SIZE, pack_tokens=recipe.pack_tokens, seed=0)
    seconds = []
    for index in range(min(3, source.steps_per_epoch)):
        began = time.perf_counter()
        for batch in source.step(index):
            for loss in model(batch).values():
                loss.sum.backward()
        seconds.append(time.perf_counter() - began)
    return max(1e-4, float(np.mean(seconds[1:] or seconds)) * 1.1)  # the optimizer's share


def squad_json(data: SquadData) -> str:
    """Return the text of a SQuAD 1.1 file of these questions."""
    articles: dict[str, dict[int, list[Question]]] = {}
    for question in data.questions:
        articles.setdefault(data.titles[question.paragraph], {}).setdefault(question.paragraph, []).append(question)
    record = [
        {
            "title": title,
            "paragraphs": [
                {"context": data.contexts[number], "qas": [question_record(question) for question in questions]}
                for number, questions in paragraphs.items()
            ],
        }
        for title, paragraphs in articles.items()
    ]
    return json.dumps({"version": "1.1", "data": record}, ensure_ascii=False)


def question_record(question: Question) -> dict[str, object]:
    """Return a question in the form of a SQuAD file."""
    answers = [{"text": answer.text, "answer_start": answer.start} for answer in question.answers]
    return {"id": question.id, "question": question.text, "answers": answers}


def finetune_column(
    model: Path, plan: FinetuningPlan, out: Path, *, is_given: bool, origin: Origin, log: RunLog
) -> Path:
    """Fine-tune one column; returns the folder of the model."""
    config = read_folder(model).config
    recipe = question_recipe(config.hidden_size, config.max_positions, plan.steps, is_given=is_given)
    return finetune(
        "qa", model=model, from_base=True, train=plan.file, origins=[origin], out=out, recipe=recipe, log=log
    ).final


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The scores and answers of the unseen questions."""

    measures: list[Measure]  # exact match and F1
    data: SquadData  # the questions that were asked
    predictions: Predictions  # of the column that answers: the shipped weights where there are some
    exact: dict[str, float]  # of the answering column, by question id
    answering: LoadedTask
    column: str  # its name


def score_columns(finals: Mapping[str, Path], data: SquadData, seconds: float) -> Scored:
    """Ask every column the same unseen questions, as many as the time allows; errors cluster by paragraph."""
    loaded = {name: load_task_model(folder, "qa") for name, folder in finals.items()}
    answering = SHIPPED_COLUMN if SHIPPED_COLUMN in loaded else "trained"
    per_question = sum(seconds_per_question(model, data) for model in loaded.values())
    data = subset(data, max(TIMED_QUESTIONS, int(0.7 * seconds / per_question)))
    exact: dict[str, np.ndarray] = {}
    f1: dict[str, np.ndarray] = {}
    ids = [question.id for question in data.questions]
    for name in sorted(loaded, key=COLUMN_ORDER.index):  # the one that answers is last
        predictions = answer(loaded[name], data)
        scores = raw_scores(data, predictions.best())
        exact[name] = 100.0 * np.array([scores.exact[key] for key in ids])
        f1[name] = 100.0 * np.array([scores.f1[key] for key in ids])
    clusters = np.array([question.paragraph for question in data.questions])
    chosen = np.ones(len(ids), dtype=bool)
    return Scored(
        measures=[
            compare_columns("exact", exact, clusters, chosen, "higher"),
            compare_columns("f1", f1, clusters, chosen, "higher"),
        ],
        data=data,
        predictions=predictions,
        exact=scores.exact,
        answering=loaded[answering],
        column=answering,
    )


def seconds_per_question(model: LoadedTask, data: SquadData) -> float:
    """Return the seconds of one question, after a first call that is not counted."""
    answer(model, subset(data, 2))
    began = time.perf_counter()
    answer(model, subset(data, TIMED_QUESTIONS))
    return (time.perf_counter() - began) / TIMED_QUESTIONS


def with_shipped(finals: Mapping[str, Path], language: str) -> dict[str, Path]:
    """Return the models that answer: those that were fine-tuned, and the shipped weights of this language."""
    shipped = shipped_folder(SHIPPED_FOR.get(language))
    return dict(finals) if shipped is None else {**finals, SHIPPED_COLUMN: shipped}


def answer(loaded: LoadedTask, data: SquadData) -> Predictions:
    """Return the n-best answers of a model to every question."""
    task, model = loaded.task, loaded.model
    features = task.featurize(data, loaded.tokenizer, model.encoder.config, training=False)
    return task.decode(data, features, model.outputs(features))


def confident_answers(scored: Scored) -> list[AnswerRecord]:
    """Return the most confident answers among a fixed handful of the unseen questions, one per paragraph."""
    nbest = scored.predictions.nbest
    answered = [question for question in subset(scored.data, HANDFUL).questions if nbest[question.id]]
    answered.sort(key=lambda question: -nbest[question.id][0].probability)
    shown: dict[int, AnswerRecord] = {}
    for question in answered:
        if question.paragraph not in shown and len(shown) < SHOWN_ANSWERS:
            gold = list(dict.fromkeys(answer.text for answer in question.answers))
            record = answer_record(question.text, scored.data.context_of(question), nbest[question.id][0])
            shown[question.paragraph] = replace(record, gold=gold, exact=bool(scored.exact[question.id]))
    return list(shown.values())


def answer_record(question: str, context: str, best: SpanAnswer) -> AnswerRecord:
    """Return what the page shows of an answer that nobody has judged."""
    return AnswerRecord(
        question=question,
        context=context,
        start=best.start,
        end=best.end,
        answer=best.text,
        score=best.probability,
        gold=[],
    )


def paragraphs_of(documents: Iterable[Document]) -> list[str]:
    """Return the first paragraphs of documents, among which a person's question is looked up."""
    return [" ".join(part.sentences) for part in itertools.islice(parts_of(documents), MOST_PARAGRAPHS)]


def answer_question(question: str, paragraphs: Iterable[str], loaded: LoadedTask) -> AnswerRecord | None:
    """Answer a person's question from the paragraphs that share most words with it; None where none does."""
    kept = [paragraph for paragraph in paragraphs if paragraph.strip()]
    nearest = nearest_passages(question, kept)
    if not nearest:
        return None
    contexts = [kept[index] for index in nearest]
    nbest = answer(loaded, as_data([(question, context) for context in contexts])).nbest
    answers = [(nbest[str(n)][0], context) for n, context in enumerate(contexts) if nbest[str(n)]]
    if not answers:
        return None
    best, context = max(answers, key=lambda item: item[0].score)
    return answer_record(question, context, best)
