"""SQuAD 1.1 and 2.0 files (also KorQuAD 1.0 and SQuADShifts, which have the same shape).

Whether a file holds unanswerable questions is read from the data, never from an option: an option that contradicts
the file scores silently wrong (FAMILY 7C-5).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spanwise.errors import ConfigError, DataError
from spanwise.tasks.text_files import read_json

Purpose = Literal["train", "score", "predict"]
OnError = Literal["strict", "repair"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A gold answer: `context[start:start + len(text)] == text`. `start` is -1 where the file need not give it."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Question:
    """One question on one paragraph; no answers means: known to have none (or read for prediction)."""

    id: str
    text: str
    paragraph: int  # index into `SquadData.contexts`
    answers: tuple[Answer, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SquadData:
    """The paragraphs and questions of one file, in file order."""

    source: str
    version: str
    contexts: tuple[str, ...]
    titles: tuple[str, ...]  # one a paragraph
    questions: tuple[Question, ...]
    has_unanswerable: bool
    num_moved_answers: int = 0  # answer offsets corrected under `errors="repair"`
    num_dropped_answers: int = 0  # answers found nowhere in their paragraph

    def context_of(self, question: Question) -> str:
        return self.contexts[question.paragraph]


def read_squad(path: str | Path, *, purpose: Purpose = "train", errors: OnError = "strict") -> SquadData:
    """Read a `.json`, `.json.gz` or `.json.xz` file of the SQuAD shape.

    `purpose="train"` checks that every gold answer stands at its offset; `"score"` needs the answer texts alone;
    `"predict"` needs no answers. `errors="repair"` moves a wrong offset to the nearest place where the answer stands
    and drops answers (and then questions) that stand nowhere; both are counted.

    Raises: DataError naming file, article and question: damaged or malformed JSON, missing keys, empty contexts or
    questions, duplicate ids, offsets outside the context or not at the text, an unanswered question in a 1.1 file.
    """
    if errors not in ("strict", "repair"):
        raise ConfigError(f"errors must be 'strict' or 'repair', got {errors!r}.")
    record = read_json(path)
    return parse_squad(record, source=str(path), purpose=purpose, errors=errors)


def parse_squad(record: Any, *, source: str, purpose: Purpose = "train", errors: OnError = "strict") -> SquadData:
    """The same as `read_squad`, from the parsed JSON value; `source` is the name used in messages."""
    articles = record.get("data") if isinstance(record, dict) else None
    if not isinstance(articles, list):
        raise DataError(f"{source}: expected an object with a list 'data' of articles (the SQuAD format).")
    return _Parser(source, str(record.get("version", "")), purpose, errors).parse(articles)


class _Parser:
    """Walks articles, paragraphs and questions, and knows where it is when something is wrong."""

    def __init__(self, source: str, version: str, purpose: Purpose, errors: OnError) -> None:
        self.source, self.version, self.purpose, self.errors = source, version, purpose, errors
        self.contexts: list[str] = []
        self.titles: list[str] = []
        self.questions: list[Question] = []
        self.seen: set[str] = set()
        self.num_moved = self.num_dropped = 0
        self.where = source

    def parse(self, articles: list[Any]) -> SquadData:
        self.allows_unanswerable = self.version.lstrip("vV").startswith("2") or _any_impossible_key(articles)
        for number, article in enumerate(articles):
            title = str(
                self.get(article, "title", str, f"{self.source}, article {number + 1}", default=f"{number + 1}")
            )
            paragraphs = self.get(article, "paragraphs", list, f"{self.source}, article {title!r}")
            for index, paragraph in enumerate(paragraphs):
                self.paragraph(title, paragraph, f"{self.source}, article {title!r}, paragraph {index + 1}")
        if not self.questions:
            raise DataError(f"{self.source}: no questions in it.")
        return SquadData(
            source=self.source,
            version=self.version,
            contexts=tuple(self.contexts),
            titles=tuple(self.titles),
            questions=tuple(self.questions),
            has_unanswerable=self.purpose != "predict" and any(not question.answers for question in self.questions),
            num_moved_answers=self.num_moved,
            num_dropped_answers=self.num_dropped,
        )

    def paragraph(self, title: str, paragraph: Any, where: str) -> None:
        context = self.text(paragraph, "context", where)
        self.contexts.append(context)
        self.titles.append(title)
        for number, qa in enumerate(self.get(paragraph, "qas", list, where)):
            id = str(self.get(qa, "id", (str, int), f"{where}, question {number + 1}"))
            self.question(qa, id, context, f"{where}, question {id!r}")

    def question(self, qa: dict[str, Any], id: str, context: str, where: str) -> None:
        if id in self.seen:
            raise DataError(f"{where}: this id stands twice in the file; every question needs its own id.")
        self.seen.add(id)
        text = self.text(qa, "question", where)
        answers: tuple[Answer, ...] = ()
        if self.purpose != "predict":
            entries = self.get(qa, "answers", list, where)
            answers = tuple(found for entry in entries if (found := self.answer(entry, context, where)) is not None)
            if entries and not answers:
                return  # every answer was dropped under "repair": the question can't be learned or scored
            self.check_answerability(qa, bool(answers), where)
        self.questions.append(Question(id, text, len(self.contexts) - 1, answers))

    def check_answerability(self, qa: dict[str, Any], has_answers: bool, where: str) -> None:
        impossible = qa.get("is_impossible")
        if impossible is not None and not isinstance(impossible, bool):
            raise DataError(f"{where}: 'is_impossible' must be true or false, got {impossible!r}.")
        if impossible and has_answers:
            raise DataError(f"{where}: 'is_impossible' is true but it has answers; remove the one or the other.")
        if impossible is False and not has_answers:
            raise DataError(
                f"{where}: 'is_impossible' is false but 'answers' is empty; add an answer or set it to true."
            )
        if not has_answers and not self.allows_unanswerable:
            raise DataError(
                f"{where}: it has no answer, and this is a SQuAD 1.1 file (version {self.version!r}). "
                'Add the answer, or mark unanswerable questions with "is_impossible": true.'
            )

    def answer(self, entry: Any, context: str, where: str) -> Answer | None:
        text = self.get(entry, "text", str, f"{where}, an answer")
        if self.purpose == "score":
            return Answer(text, -1)
        if not text.strip():
            raise DataError(f"{where}: an answer is empty; for a question without an answer leave 'answers' empty.")
        start = self.get(entry, "answer_start", int, f"{where}, answer {text!r}")
        if start >= 0 and context.startswith(text, start):
            return Answer(text, start)
        if self.errors == "repair":
            return self.repaired(text, start, context)
        if not 0 <= start <= len(context) - len(text):
            found = f"outside the context of {len(context)} characters"
        else:
            found = f"where the context reads {context[start : start + len(text)]!r}"
        raise DataError(
            f"{where}: answer {text!r} has answer_start {start}, {found}. Offsets count characters from 0; "
            "correct the file, or read it with --errors repair."
        )

    def repaired(self, text: str, start: int, context: str) -> Answer | None:
        places = []
        place = context.find(text)
        while place >= 0:
            places.append(place)
            place = context.find(text, place + 1)
        if not places:
            self.num_dropped += 1
            return None
        self.num_moved += 1
        return Answer(text, min(places, key=lambda place: abs(place - start)))

    def text(self, record: Any, key: str, where: str) -> str:
        value = self.get(record, key, str, where)
        if not value.strip():
            raise DataError(f"{where}: {key!r} is empty.")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise DataError(f"{where}: {key!r} holds half a surrogate pair at character {error.start}.") from error
        return value

    def get(self, record: Any, key: str, kind: type | tuple[type, ...], where: str, default: Any = None) -> Any:
        if not isinstance(record, dict):
            raise DataError(f"{where}: expected an object, got {type(record).__name__}.")
        value = record.get(key, default)
        if value is None:
            raise DataError(f"{where}: the key {key!r} is missing.")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise DataError(f"{where}: {key!r} has the wrong type {type(value).__name__}.")
        return value


def _any_impossible_key(articles: list[Any]) -> bool:
    """Whether any question carries `is_impossible`; the walk that follows names malformed parts."""

    def parts(record: Any, key: str) -> list[Any]:
        found = record.get(key) if isinstance(record, dict) else None
        return found if isinstance(found, list) else []

    questions = (
        qa for article in articles for paragraph in parts(article, "paragraphs") for qa in parts(paragraph, "qas")
    )
    return any(isinstance(qa, dict) and "is_impossible" in qa for qa in questions)


def read_predictions(path: str | Path) -> dict[str, str]:
    """A prediction file: one JSON object, question id to answer text (empty text: no answer)."""
    record = read_json(path)
    if not isinstance(record, dict):
        raise DataError(f"{path}: expected an object of question id to answer text, got a {type(record).__name__}.")
    for id, text in record.items():
        if not isinstance(text, str):
            raise DataError(f"{path}, question {id!r}: expected an answer text, got {type(text).__name__}.")
    return record


def read_null_odds(path: str | Path) -> dict[str, float]:
    """A null-odds file (the official `--na-prob-file`): one JSON object, question id to number."""
    record = read_json(path)
    if not isinstance(record, dict):
        raise DataError(f"{path}: expected an object of question id to number, got a {type(record).__name__}.")
    for id, value in record.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise DataError(f"{path}, question {id!r}: expected a number, got {value!r}.")
    return record
