"""The many ways in which a question and its context were given to the old pipeline, as pairs of texts."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from spanwise.errors import DataError
from spanwise.tasks.qa.data import Question, SquadData

NAMES = ("question", "context", "X", "data")


class QuestionError(DataError, ValueError):
    """A question or context that can't be asked; a ValueError too, as the old pipeline raised."""


def given_inputs(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A generator as it came, or a list of things that are one question each."""
    if len(args) == 2 and all(isinstance(arg, str) for arg in args):
        return [{"question": args[0], "context": args[1]}]
    if args:
        found = args[0] if len(args) == 1 else list(args)
    elif "X" in named or "data" in named:
        found = named.get("X", named.get("data"))
    elif {"question", "context"} <= set(named):
        return _paired(named["question"], named["context"])
    else:
        raise QuestionError("nothing to answer: pass question= and context=, or {'question': ..., 'context': ...}.")
    if isinstance(found, types.GeneratorType):
        return found
    if isinstance(found, dict) or hasattr(found, "question_text"):
        return [found]
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise QuestionError(f"expected a question with its context, got {type(found).__name__} {str(found)[:60]!r}.")
    return list(found)


def _paired(question: Any, context: Any) -> list[dict[str, Any]]:
    if isinstance(question, list) and isinstance(context, list):
        if len(question) != len(context):
            raise QuestionError(f"{len(question)} questions came with {len(context)} contexts; give each its own.")
        return [{"question": q, "context": c} for q, c in zip(question, context, strict=True)]
    if isinstance(question, list):
        return [{"question": q, "context": context} for q in question]
    if isinstance(context, list):
        return [{"question": question, "context": c} for c in context]
    return [{"question": question, "context": context}]


def pairs_of(items: Sequence[Any], first: int = 0) -> list[tuple[str, str]]:
    """Question and context of each item. Raises: QuestionError, naming the input where there are several; the first of
    these is number `first`."""
    found = []
    for number, item in enumerate(items, start=first):
        try:
            found.append(_pair(item))
        except QuestionError as error:
            if len(items) == 1 and first == 0:
                raise
            raise QuestionError(f"input {number}: {error}") from error
    return found


def _pair(item: Any) -> tuple[str, str]:
    """Question and context of one dictionary or SquadExample-like object."""
    if isinstance(item, dict):
        values = {name: item.get(name) for name in ("question", "context")}
    elif hasattr(item, "question_text") and hasattr(item, "context_text"):
        values = {"question": item.question_text, "context": item.context_text}
    else:
        raise QuestionError(
            f"expected a dictionary with 'question' and 'context', got {type(item).__name__} {str(item)[:60]!r}."
        )
    return checked_text("question", values["question"]), checked_text("context", values["context"])


def checked_text(name: str, value: Any) -> str:
    """Raises: QuestionError for what is no text, empty, or half a surrogate pair."""
    if value is None:
        raise QuestionError(f"{name!r} is missing or None; give a text.")
    if not isinstance(value, str):
        raise QuestionError(f"{name!r} is a {type(value).__name__}; a string was expected.")
    if not value:
        raise QuestionError(f"{name!r} is empty; give a text.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise QuestionError(f"{name!r} holds half a surrogate pair at character {error.start}.") from error
    return value


def numbered_documents(documents: Any) -> Iterator[tuple[int, str]]:
    """Documents with their numbers, read as they are asked for. Raises: QuestionError naming the document."""
    if isinstance(documents, str) or not isinstance(documents, Iterable):
        raise QuestionError(f"documents is a {type(documents).__name__}; a list or generator of texts was expected.")
    for number, document in enumerate(documents):
        yield number, checked_text(f"document {number}", document)


def as_data(pairs: Sequence[tuple[str, str]]) -> SquadData:
    """The pairs as a data set in which every context stands once."""
    places: dict[str, int] = {}
    questions = tuple(
        Question(str(number), question, places.setdefault(context, len(places)))
        for number, (question, context) in enumerate(pairs)
    )
    contexts = tuple(places)
    return SquadData(
        source="the call",
        version="",
        contexts=contexts,
        titles=("",) * len(contexts),
        questions=questions,
        has_unanswerable=False,
    )
