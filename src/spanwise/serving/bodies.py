"""What a request's body may hold, by task: the items that the pipelines take, and their options by the same names.

Texts come in bodies alone: nothing in them is read as the name of a file or as an address.
"""

import dataclasses
import importlib
import re
import typing
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from spanwise.errors import ConfigError
from spanwise.pipelines import module_and_class
from spanwise.pipelines.fill_mask import FillOptions
from spanwise.serving.limits import Limits

Offset = Annotated[int, Field(ge=0, le=10_000_000)]
SpanRange = Annotated[list[Offset], Field(min_length=2, max_length=2)]
MOST = {
    "top_k": 100,
    "num_beams": 20,
    "max_answer_len": 512,
    "max_question_len": 512,
    "max_seq_len": 8192,
    "max_new_tokens": 1024,
    "num_return_sequences": 20,
}
LEAST = {"max_seq_len": 64}
Item = TypeVar("Item")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class AskedOfContext(_Strict):
    """A question about one text."""

    question: str
    context: str


class AskedOfDocuments(_Strict):
    """A question about many texts; the best answers of all come back, each with the number of its document."""

    question: str
    documents: list[str]


class Words(_Strict):
    """A sentence whose words are known."""

    words: list[str]


class Text(_Strict):
    text: str


class TextPair(_Strict):
    """A text, or a pair of texts."""

    text: str
    text_pair: str | None = None


class TextWithSpans(_Strict):
    """A text and half-open ranges of its characters."""

    text: str
    spans: list[SpanRange]


class TypedMention(_Strict):
    start: Offset
    end: Offset
    type: str | None = None


class Mentions(_Strict):
    """A text and two mentions in it, half-open ranges of characters."""

    text: str
    subject: SpanRange | TypedMention
    object: SpanRange | TypedMention


class Choices(_Strict):
    """Choices, with a text or a question or both."""

    choices: list[str]
    context: str | None = None
    question: str | None = None


ITEMS: dict[str, Any] = {
    "question-answering": AskedOfContext | AskedOfDocuments,
    "token-classification": str | Words,
    "coreference": str | Text,
    "fill-mask": str,
    "span-embedding": TextWithSpans,
    "text-classification": str | TextPair,
    "relation-extraction": Mentions,
    "multiple-choice": Choices,
    "replaced-tokens": str,
    "text-generation": str,
}
EXAMPLES: dict[str, Any] = {
    "question-answering": {"question": "Who built the bridge?", "context": "The bridge was built by Ada Smith."},
    "token-classification": "Ada Smith lives in Paris.",
    "coreference": "Ada Smith came home. She was tired.",
    "fill-mask": "Paris is the [MASK] of France.",
    "span-embedding": {"text": "Ada lives in Paris.", "spans": [[0, 3], [13, 18]]},
    "text-classification": "What a day!",
    "relation-extraction": {"text": "Ada lives in Paris.", "subject": [0, 3], "object": [13, 18]},
    "multiple-choice": {"question": "What is red?", "choices": ["blood", "grass"]},
    "replaced-tokens": "The chef ate the meal.",
    "text-generation": "The river",
}


class Body(BaseModel, Generic[Item]):
    """One input or a list of them; `model` is one of `/v1/models`, by default the first that knows the task."""

    model_config = ConfigDict(extra="forbid", strict=True)
    inputs: Item | list[Item]
    options: Any = None
    model: str | None = None


def body_of(task: str) -> type[Body[Any]]:
    """Return the model of a task's body, its options those of the task's pipeline."""
    name = task.title().replace("-", "")
    item: Any = ITEMS[task]
    fields: dict[str, Any] = {
        "inputs": (item | list[item], Field(examples=[EXAMPLES[task]])),
        "options": (_options_model(task, f"{name}Options") | None, None),
    }
    return create_model(f"{name}Request", __base__=Body, __doc__=f"Inputs of `{task}`.", **fields)


def _options_model(task: str, name: str) -> type[BaseModel]:
    module, class_name = module_and_class(task)
    options_type = getattr(importlib.import_module(module), class_name).options_type
    hints = typing.get_type_hints(options_type)
    fields: dict[str, Any] = {
        found.name: (
            hints[found.name] | None if found.name not in MOST else _bounded(hints[found.name], found.name),
            None,
        )
        for found in dataclasses.fields(options_type)
    }
    if task == "fill-mask":
        fields["head"] = (typing.Literal["mlm", "sbo"] | None, None)
    return create_model(name, __config__=ConfigDict(extra="forbid", strict=True), **fields)


def _bounded(hint: Any, name: str) -> Any:
    return Annotated[hint | None, Field(ge=LEAST.get(name, 1), le=MOST[name])]


def check_size(items: list[Any], limits: Limits) -> None:
    """Refuse inputs beyond the limits. Raises: ConfigError that names the limit."""
    if len(items) > limits.inputs:
        raise ConfigError(f"{len(items)} inputs came; at most {limits.inputs} go into one request. Send several.")
    total = 0
    spans: list[list[int]] = []
    for item in items:
        for name, value in _lists(item):
            spans += value if name == "spans" else []
            most = {"documents": limits.documents, "choices": limits.choices, "spans": limits.spans}
            if len(value) > most.get(name, limits.pieces):
                raise ConfigError(f"{len(value):,} {name} came; at most {most.get(name, limits.pieces):,} are taken.")
        for text in texts_of(item):
            if len(text) > limits.text:
                raise ConfigError(f"a text has {len(text):,} characters; at most {limits.text:,} are taken. Part it.")
            total += len(text)
    if total > limits.request:
        raise ConfigError(
            f"the texts of this request have {total:,} characters together; at most {limits.request:,} are taken."
        )
    _check_spans(spans, total, limits)


def _check_spans(spans: list[list[int]], total: int, limits: Limits) -> None:
    """Refuse spans of texts of `total` characters that are too many, or whose vectors would need too many windows: a
    wide one may be read in a window of its own. Raises: ConfigError that names the limit."""
    if len(spans) > limits.spans:
        raise ConfigError(
            f"this request has {len(spans):,} spans together; at most {limits.spans:,} are taken. Send several."
        )
    total += sum(max(0, end - start) for start, end in spans)
    if spans and total > limits.request:
        raise ConfigError(
            f"the texts of this request and their spans have {total:,} characters together; at most "
            f"{limits.request:,} are taken. Send several, or shorter spans."
        )


def check_blanks(texts: list[str], mask: str, options: Mapping[str, Any], limits: Limits) -> None:
    """Refuse texts whose blanks, marked by `mask`, would make too much work or too long an answer. Raises: ConfigError
    that names the limit."""
    top_k, targets = options.get("top_k", FillOptions.top_k), options.get("targets")
    beams = (options.get("num_beams") or max(5, top_k)) if options.get("joint") else 1
    blanks = sum(text.count(mask) for text in texts)
    if blanks * beams > limits.blank_windows:
        raise ConfigError(
            f"this request has {blanks:,} {mask}{f' to fill with {beams} beams' if beams > 1 else ''}; at most "
            f"{limits.blank_windows // beams:,} are taken. Send several."
        )
    # With `joint`, one phrase fills blanks side by side; a single blank is given no more words than `targets` has.
    one = re.compile(f"(?:{re.escape(mask)} ?)+" if options.get("joint") else re.escape(mask))
    guesses = top_k
    if targets is not None and not options.get("joint"):
        guesses = min(top_k, 1 if isinstance(targets, str) else len(targets))
    repeated = sum(len(one.findall(text)) * len(text) for text in texts) * guesses
    if repeated > limits.repeated:
        raise ConfigError(
            f"every guess repeats the text around its {mask}, {repeated:,} characters in all; at most "
            f"{limits.repeated:,} are sent. Lower top_k, or send shorter texts."
        )


def texts_of(item: Any) -> Iterator[str]:
    """Yield every text of an input."""
    if isinstance(item, str):
        yield item
    elif isinstance(item, dict):
        for value in item.values():
            yield from texts_of(value)
    elif isinstance(item, list):
        for value in item:
            yield from texts_of(value)


def _lists(item: Any) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(item, dict):
        yield from ((name, value) for name, value in item.items() if isinstance(value, list))
