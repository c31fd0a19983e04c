"""The models of an extraction: which tasks a folder has, and what each finds in a batch of documents.

Every task is asked through its pipeline, so answers are those of `spanwise.pipeline`; the windows of all documents of a
batch go through the encoder in packs. Relations are looked for between the names of one sentence, which the taggers of
the same extraction found.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.extraction.documents import Document
from spanwise.extraction.questions import Question
from spanwise.extraction.rows import Row
from spanwise.interop.combined.reading import read_for_task
from spanwise.interop.huggingface import read_folder
from spanwise.pipelines import pipeline
from spanwise.runtime.device import Precision
from spanwise.tasks.checkpoint import known_tasks, stored_task
from spanwise.tasks.registry import task_recipe
from spanwise.tasks.relation.task import NEGATIVES
from spanwise.text.sentences import sentence_ranges

Found = list[list[Row]]  # the rows of each document


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A task of a model that was named, and how it is asked."""

    model: str
    task: str
    questions: tuple[Question, ...] = ()
    language: str = "en"
    device: str | None = None
    precision: Precision = "auto"

    def options(self) -> dict[str, Any]:
        """Return what every pipeline is opened with."""
        return {"device": self.device, "precision": self.precision}


@dataclass
class Batch:
    """Documents that are read together, and the names found in each so far."""

    documents: list[Document]
    names: Found = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = self.names or [[] for _ in self.documents]

    def of_one(self, place: int) -> "Batch":
        """Return a batch of one of the documents."""
        return Batch([self.documents[place]], [self.names[place]])

    @property
    def texts(self) -> list[str]:
        return [document.text for document in self.documents]


class Reader(ABC):
    """One task of one model. `num_unread` counts the tokens of documents that it cut."""

    task: ClassVar[str]
    needs: ClassVar[str] = ""  # another task whose rows it reads

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.num_unread = 0
        self._pipe = pipeline(task_recipe(self.task).task.pipeline_name or "", asked.model, **asked.options())

    @abstractmethod
    def read(self, batch: Batch) -> Found:
        """Return the rows of each document. Raises: DataError."""

    def answers(self, inputs: list[Any], **options: Any) -> list[Any]:
        """Ask the pipeline; a list in, a list out."""
        if not inputs:
            return []
        found = self._pipe(inputs, **options)
        found = found if isinstance(found, list) and len(found) == len(inputs) else [found]
        for answer in found:
            self.num_unread += answer.get("num_dropped_tokens", 0)
        return found


class Questions(Reader):
    """The best answer to each question in each document; no row where the model says that there is none."""

    task = "qa"

    def read(self, batch: Batch) -> Found:
        questions = self.asked.questions
        pairs = [{"question": q.text, "context": text} for text in batch.texts for q in questions]
        answers = self.answers(pairs)
        found: Found = []
        for place in range(len(batch.documents)):
            own = answers[place * len(questions) : (place + 1) * len(questions)]
            found.append(
                [
                    Row(kind=q.id, start=a["start"], end=a["end"], text=a["answer"], score=a["score"])
                    for q, a in zip(questions, own, strict=True)
                    if a["answer"]
                ]
            )
        return found


class Names(Reader):
    """The spans that a tagger finds."""

    task = "tagging"

    def read(self, batch: Batch) -> Found:
        found: Found = [
            [
                Row(kind=s["label"], start=s["start"], end=s["end"], text=s["text"], score=s["score"])
                for s in answer["spans"]
            ]
            for answer in self.answers(batch.texts)
        ]
        batch.names = [before + now for before, now in zip(batch.names, found, strict=True)]
        return found


class Clusters(Reader):
    """The mentions of each cluster of a document."""

    task = "coref"

    def read(self, batch: Batch) -> Found:
        return [
            [
                Row(kind="mention", start=m["start"], end=m["end"], text=m["text"], score=m["score"], cluster=number)
                for number, cluster in enumerate(answer["clusters"])
                for m in cluster
            ]
            for answer in self.answers(batch.texts, language=self.asked.language)
        ]


class Labels(Reader):
    """The label of each document."""

    task = "classification"

    def read(self, batch: Batch) -> Found:
        found: Found = []
        for answer in self.answers(batch.texts):
            if "value" in answer:
                found.append([Row(kind="value", score=answer["value"])])
            else:
                names = answer["labels"] if "labels" in answer else [answer["label"]]
                found.append([Row(kind=name, score=answer["scores"][name]) for name in names])
        return found


class Relations(Reader):
    """The relations between two names of a sentence, in both directions; pairs without one have no row."""

    task, needs = "relation", "tagging"

    def read(self, batch: Batch) -> Found:
        pairs = [self._pairs(d.text, names) for d, names in zip(batch.documents, batch.names, strict=True)]
        answers = iter(self.answers([item for own in pairs for _, _, item in own]))
        found: Found = []
        for own in pairs:
            rows: dict[tuple[int, int, int, int, str], Row] = {}
            for (subject, object, _), answer in zip(own, itertools.islice(answers, len(own)), strict=True):
                row = Row(
                    kind=answer["label"],
                    score=answer["score"],
                    start=subject["start"],
                    end=subject["end"],
                    text=subject["text"],
                    object_start=object["start"],
                    object_end=object["end"],
                    object_text=object["text"],
                )
                key = (row["start"], row["end"], row["object_start"], row["object_end"], row["kind"])
                is_best = key not in rows or rows[key]["score"] < row["score"]  # spans may have names of several kinds
                if row["kind"] not in NEGATIVES and is_best:
                    rows[key] = row
            found.append(list(rows.values()))
        return found

    def _pairs(self, text: str, names: Sequence[Row]) -> list[tuple[Row, Row, dict[str, Any]]]:
        """Return subject, object and what the pipeline is given, for each ordered pair of names of a sentence.

        What several taggers found alike counts once, and a span of two kinds is no pair.
        """
        once: dict[tuple[int, int, str], Row] = {}
        for name in names:
            once.setdefault((name["start"], name["end"], name["kind"]), name)
        found = []
        for start, end in sentence_ranges(text, self.asked.language):
            here = [name for name in once.values() if start <= name["start"] and name["end"] <= end]
            for subject, object in itertools.permutations(here, 2):
                if (subject["start"], subject["end"]) == (object["start"], object["end"]):
                    continue
                item: dict[str, Any] = {"text": text[start:end]}
                for role, name in (("subject", subject), ("object", object)):
                    item[role] = {"start": name["start"] - start, "end": name["end"] - start, "type": name["kind"]}
                found.append((subject, object, item))
        return found


READERS: dict[str, type[Reader]] = {
    kind.task: kind for kind in (Questions, Names, Clusters, Labels, Relations)
}  # in the order in which they read: relations behind names


def tasks_of(model: str) -> list[str]:
    """Return the tasks that a folder can do, in the registry's order.

    Raises: CheckpointError where it has none.
    """
    found = known_tasks(model)
    if not found:
        raise CheckpointError(
            f"{model} ({read_folder(model).source_class}) has no task. Name a fine-tuned folder, or a combined one."
        )
    return found


def chosen(
    models: Sequence[str], tasks: Sequence[str] | None, has_questions: bool
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the model and task of each reader in reading order, and the tasks left out, each as a sentence.

    Raises: ConfigError for a model named twice, a task that no model has or that reads no documents, questions without
    a model for them, relations without names, pairs of texts; CheckpointError for a folder without a task.
    """
    if twice := next((model for number, model in enumerate(models) if model in models[:number]), None):
        raise ConfigError(f"the model {twice} is named twice; name it once.")
    if unknown := next((task for task in tasks or () if task not in READERS), None):
        raise ConfigError(f"no documents are read for the task {unknown!r}; tasks are {', '.join(READERS)}.")
    there = [(model, task) for model in models for task in tasks_of(model)]
    if missing := next((task for task in tasks or () if task not in [own for _, own in there]), None):
        told = ", ".join(f"{model} ({task})" for model, task in there)
        raise ConfigError(f"no model has the task {missing!r}; there is {told}.")
    wanted = [pair for pair in there if tasks is None or pair[1] in tasks]
    reasons = {pair: _why_not(*pair, has_questions) for pair in wanted}
    kept = [pair for pair in wanted if not reasons[pair]]
    if has_questions and not any(task == "qa" for _, task in kept):
        raise ConfigError("there are questions, and no model that answers questions (qa); name one, or leave them out.")
    left_out = [
        f"{model}: the task {task!r} is left out: {reason}" for (model, task), reason in reasons.items() if reason
    ]
    if "classification" in (tasks or ()) and not any(task == "classification" for _, task in kept):
        raise ConfigError(f"{' '.join(left_out)} Leave 'classification' out, or name a model of single texts.")
    for _, task in kept:
        if (needed := READERS[task].needs) and not any(other == needed for _, other in kept):
            raise ConfigError(f"the task {task!r} reads what {needed!r} finds; name a model for {needed!r} too.")
    if not kept:
        raise ConfigError(f"nothing is left to do. {' '.join(left_out)} Give questions, or another model.")
    order = list(READERS)
    return sorted(kept, key=lambda pair: order.index(pair[1])), left_out


def _why_not(model: str, task: str, has_questions: bool) -> str:
    """Return why the task of a model can't be asked of documents, as a sentence; "" where it can."""
    if task not in READERS:
        return "it reads no documents."
    if task == "qa" and not has_questions:
        return "no questions."
    if task == "classification":
        checkpoint = read_for_task(model, task)
        stored = stored_task(checkpoint, task_recipe(task).task.started_from(checkpoint))
        return "it reads pairs of texts." if getattr(stored, "is_pair", None) else ""
    return ""


def read_each(reader: Reader, batch: Batch) -> tuple[Found, dict[int, str]]:
    """Return the rows of each document, and of those that the reader can't read the reason, by their place.

    Where one document spoils the batch, each is read alone.
    """
    try:
        return reader.read(batch), {}
    except DataError as error:
        if len(batch.documents) == 1:
            return [[]], {0: str(error)}
    found: Found = []
    wrong: dict[int, str] = {}
    for place in range(len(batch.documents)):
        alone = batch.of_one(place)
        rows, errors = read_each(reader, alone)
        found += rows
        batch.names[place] = alone.names[0]
        if errors:
            wrong[place] = errors[0]
    return found, wrong


def opened(asked: Asked) -> Reader:
    """Return the reader of a task, its model in memory. Raises: CheckpointError, ConfigError."""
    return READERS[asked.task](asked)


def folder_of(model: str) -> Path:
    """Return the folder that a model's name stands for."""
    return read_folder(model).folder
