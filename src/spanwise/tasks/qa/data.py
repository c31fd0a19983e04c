"""Questions on passages in memory, whatever files they came from, and what all readers of such files share: checked
fields, answers put in their place, ids that stand once.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from spanwise.errors import ConfigError, DataError
from spanwise.runtime.wording import counted
from spanwise.tasks.files.joining import joined_name, told_apart
from spanwise.tasks.files.tables import REPAIR, name_left_out
from spanwise.tasks.files.text import OnError, Purpose


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
    """One question on one paragraph; no answers means: known to have none (or read for prediction).

    The first answer is the one that `task.gold="first"` learns from.
    """

    id: str
    text: str
    paragraph: int  # index into `SquadData.contexts`
    answers: tuple[Answer, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SquadData:
    """The paragraphs and questions of one file, in file order, or of several files one behind the other."""

    source: str
    version: str  # what the file calls itself, such as "v2.0", "KorQuAD_v1.0_dev" or MRQA's name of the data set
    contexts: tuple[str, ...]
    titles: tuple[str, ...]  # one per paragraph
    questions: tuple[Question, ...]
    has_unanswerable: bool
    num_moved_answers: int = 0  # answer offsets corrected under `errors="repair"`
    num_dropped_answers: int = 0  # answers found nowhere in their paragraph
    num_dropped: int = 0  # malformed questions left out under `errors="repair"`
    sources: tuple[str, ...] = ()  # the file of each paragraph, where there are several

    def __len__(self) -> int:
        """The number of questions."""
        return len(self.questions)

    def context_of(self, question: Question) -> str:
        return self.contexts[question.paragraph]

    def source_of(self, question: Question) -> str:
        """Return the file that a question stands in."""
        return self.sources[question.paragraph] if self.sources else self.source


def join_questions(parts: Sequence[SquadData]) -> SquadData:
    """Return files of questions as one that calls itself what the first does.

    Ids that an earlier file has are told apart by the number of the file.
    """
    ids = told_apart([question.id for question in part.questions] for part in parts)
    questions: list[Question] = []
    num_contexts = 0
    for part, names in zip(parts, ids, strict=True):
        questions += (
            dataclasses.replace(question, id=name, paragraph=num_contexts + question.paragraph)
            for question, name in zip(part.questions, names, strict=True)
        )
        num_contexts += len(part.contexts)
    return SquadData(
        source=joined_name([part.source for part in parts]),
        version=parts[0].version,
        contexts=tuple(context for part in parts for context in part.contexts),
        titles=tuple(title for part in parts for title in part.titles),
        questions=tuple(questions),
        has_unanswerable=any(part.has_unanswerable for part in parts),
        num_moved_answers=sum(part.num_moved_answers for part in parts),
        num_dropped_answers=sum(part.num_dropped_answers for part in parts),
        num_dropped=sum(part.num_dropped for part in parts),
        sources=tuple(part.source for part in parts for _ in part.contexts),
    )


def as_data(pairs: Sequence[tuple[str, str]]) -> SquadData:
    """Return the pairs as a data set in which every context stands once."""
    places: dict[str, int] = {}
    questions = tuple(
        Question(str(number), question, places.setdefault(context, len(places)))
        for number, (question, context) in enumerate(pairs)
    )
    return SquadData(
        source="the call",
        version="",
        contexts=tuple(places),
        titles=("",) * len(places),
        questions=questions,
        has_unanswerable=False,
    )


T = TypeVar("T")


class Gathering:
    """Collects contexts and questions; every complaint names the place in the file that `where` says."""

    def __init__(self, source: str, version: str, purpose: Purpose, errors: OnError) -> None:
        if errors not in ("strict", "repair"):
            raise ConfigError(f"errors must be 'strict' or 'repair', got {errors!r}.")
        self.source, self.version, self.purpose, self.errors = source, version, purpose, errors
        self.contexts: list[str] = []
        self.titles: list[str] = []
        self.questions: list[Question] = []
        self.num_moved = self.num_dropped = 0
        self._refused: list[DataError] = []
        self._seen: set[str] = set()
        self._places: dict[str, int] = {}

    def add_context(self, context: str, title: str) -> None:
        """The passage of the questions that follow."""
        self.contexts.append(context)
        self.titles.append(title)

    def find_context(self, context: str, title: str) -> int:
        """The number of a passage that may have come before: files of one question per line repeat it."""
        place = self._places.setdefault(context, len(self.contexts))
        if place == len(self.contexts):
            self.add_context(context, title)
        return place

    def add_question(
        self, id: str, text: str, answers: tuple[Answer, ...], where: str, paragraph: int | None = None
    ) -> None:
        """A question on the last passage, or on `paragraph`."""
        if id in self._seen:
            raise DataError(f"{where}: this id stands twice in the file; every question needs its own id.")
        self._seen.add(id)
        self.questions.append(Question(id, text, len(self.contexts) - 1 if paragraph is None else paragraph, answers))

    @contextmanager
    def one_question(self) -> Iterator[None]:
        """Around the reading of one question: what is wrong with it leaves it out under "repair", and stops else."""
        try:
            yield
        except DataError as error:
            if self.errors == "repair":
                self._refused.append(error)
            elif self.questions and "--errors repair" not in str(error):
                raise DataError(f"{error}{REPAIR}") from error
            else:
                raise

    def finish(self) -> SquadData:
        """Raises: DataError where there is no question."""
        if not self.questions and self._refused:
            count = counted(len(self._refused), "question")
            raise DataError(f"{self.source}: none of its {count} can be used; the first: {self._refused[0]}")
        if not self.questions:
            raise DataError(f"{self.source}: no questions in it.")
        name_left_out(self._refused)
        return SquadData(
            source=self.source,
            version=self.version,
            contexts=tuple(self.contexts),
            titles=tuple(self.titles),
            questions=tuple(self.questions),
            has_unanswerable=self.purpose != "predict" and any(not question.answers for question in self.questions),
            num_moved_answers=self.num_moved,
            num_dropped_answers=self.num_dropped,
            num_dropped=len(self._refused),
        )

    def place_answer(self, text: str, start: int, context: str, where: str) -> Answer | None:
        """The answer where it is said to stand, or under "repair" at the nearest place where it does; None: nowhere.

        Raises: DataError where the text does not stand at `start` and errors are "strict".
        """
        if start >= 0 and context.startswith(text, start):
            return Answer(text, start)
        if self.errors == "repair":
            return self._nearest(text, start, context)
        if not 0 <= start <= len(context) - len(text):
            found = f"outside the context of {len(context)} characters"
        else:
            found = f"where the context reads {context[start : start + len(text)]!r}"
        raise DataError(
            f"{where}: answer {text!r} has answer_start {start}, {found}. Offsets count characters from 0; "
            "correct the file, or read it with --errors repair."
        )

    def _nearest(self, text: str, start: int, context: str) -> Answer | None:
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


def field(record: object, key: str, kind: type[T], where: str, default: T | None = None) -> T:
    """Return a value of an object; null counts as missing. Raises: DataError where it is missing and has no default, or
    of another type."""
    if not isinstance(record, dict):
        raise DataError(f"{where}: expected an object, got {type(record).__name__}.")
    value = record.get(key)
    if value is None:
        value = default
    if value is None:
        raise DataError(f"{where}: the key {key!r} is missing.")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise DataError(f"{where}: {key!r} has the wrong type {type(value).__name__}.")
    return value


def text_field(record: object, key: str, where: str) -> str:
    """Return a text that is not empty. Raises: DataError where it is missing, or holds half a surrogate pair."""
    value = field(record, key, str, where)
    if not value.strip():
        raise DataError(f"{where}: {key!r} is empty.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(f"{where}: {key!r} holds half a surrogate pair at character {error.start}.") from error
    return value


def id_field(record: object, where: str, number: int) -> str:
    """Return the name of a question: `id`, MRQA's `qid` or KLUE's `guid`."""
    names = ("id", "qid", "guid")
    given = record if isinstance(record, dict) else {}
    name = next((name for name in names if given.get(name) is not None), "id")
    place = f"{where}, question {number}"
    return str(field(record, name, int if isinstance(given.get(name), int) else str, place))
