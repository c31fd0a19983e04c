"""Read the many ways in which a question and its context were given to the old pipeline, as pairs of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from spanwise.pipelines.given import InputError, checked_text
from spanwise.tasks.qa.data import Question, SquadData

NAMES = ("question", "context", "X", "data")


def given_inputs(args: Sequence[object], named: Mapping[str, object]) -> object:
    """Return one input, a list of them or a generator, whichever way they were given. Raises: InputError."""
    if len(args) == 2 and all(isinstance(arg, str) for arg in args):
        return {"question": args[0], "context": args[1]}
    if args:
        return args[0] if len(args) == 1 else list(args)
    for name in ("X", "data"):
        if name in named:
            return named[name]
    if not {"question", "context"} <= set(named):
        raise InputError("nothing to answer: pass question= and context=, or {'question': ..., 'context': ...}.")
    columns = [named["question"], named["context"]]
    sizes = [len(column) for column in columns if isinstance(column, list)]
    if not sizes:
        return {"question": columns[0], "context": columns[1]}
    if sizes[0] != sizes[-1]:
        raise InputError(f"{sizes[0]} questions came with {sizes[1]} contexts; give each its own.")
    questions, contexts = (column if isinstance(column, list) else [column] * sizes[0] for column in columns)
    return [{"question": q, "context": c} for q, c in zip(questions, contexts, strict=True)]


def pair_of(item: object) -> tuple[str, str]:
    """Return question and context of a dictionary or SquadExample-like object. Raises: InputError."""
    if isinstance(item, Mapping):
        question, context = item.get("question"), item.get("context")
    elif hasattr(item, "question_text") and hasattr(item, "context_text"):
        question, context = item.question_text, item.context_text
    else:
        kind = type(item).__name__
        raise InputError(
            f"a question with its context was expected ({{'question', 'context'}}), got {kind} {str(item)[:60]!r}."
        )
    return checked_text("'question'", question), checked_text("'context'", context)


def numbered_documents(documents: object) -> Iterator[tuple[int, str]]:
    """Yield documents with their numbers, read as they are asked for. Raises: InputError naming the document."""
    if isinstance(documents, str) or not isinstance(documents, Iterable):
        raise InputError(f"documents is a {type(documents).__name__}; a list or generator of texts was expected.")
    for number, document in enumerate(documents):
        yield number, checked_text(f"document {number}", document)


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
