"""One, many, or a stream of them: every task's pipeline takes inputs in the same three ways."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from spanwise.errors import DataError
from spanwise.interop.checkpoint import Checkpoint, warn_of_misfits
from spanwise.interop.huggingface import read_folder
from spanwise.pipelines.given import OptionError, chosen_device, readable
from spanwise.runtime.device import Precision
from spanwise.tasks.checkpoint import LoadedTask, load_task_model, open_tokenizer
from spanwise.text.tokenizers import Tokenizer

STREAM_BATCH = 32  # inputs of a generator that are answered together


class InputError(DataError, ValueError):
    """An input that a pipeline can't answer; a ValueError too, as pipelines elsewhere raise."""


def open_task(task: str, model: Any, tokenizer: Any, device: str | int | None, precision: Precision) -> LoadedTask:
    """The model of a folder, hub id or object of transformers. Raises: CheckpointError."""
    with contextlib.ExitStack() as stack:
        model, tokenizer = readable("model", model, stack), readable("tokenizer", tokenizer, stack)
        return load_task_model(model, task, tokenizer=tokenizer, device=chosen_device(device), precision=precision)


def open_checkpoint(model: Any, tokenizer: Any) -> tuple[Checkpoint, Tokenizer]:
    """A folder, hub id or object of transformers, with its own tokenizer or another. Raises: CheckpointError."""
    with contextlib.ExitStack() as stack:
        model, tokenizer = readable("model", model, stack), readable("tokenizer", tokenizer, stack)
        checkpoint = read_folder(model)
        warn_of_misfits(checkpoint)
        return checkpoint, open_tokenizer(checkpoint, tokenizer)


def answer_all(inputs: Any, parse: Callable[[Any], Any], answer: Callable[[list[Any]], list[Any]]) -> Any:
    """One answer for one input, a list for a list, a generator for an iterator, which is read a few at a time.

    `parse` turns one input into what `answer` takes. Raises: InputError naming which input of a list is wrong.
    """
    if isinstance(inputs, Iterator):  # a generator, map, zip, an open file
        return _stream(inputs, parse, answer)
    if isinstance(inputs, list):
        return answer([_parsed(item, number, parse) for number, item in enumerate(inputs)]) if inputs else []
    return answer([parse(inputs)])[0]


def _stream(
    items: Iterator[Any], parse: Callable[[Any], Any], answer: Callable[[list[Any]], list[Any]]
) -> Iterator[Any]:
    numbered = enumerate(items)
    while batch := list(itertools.islice(numbered, STREAM_BATCH)):
        yield from answer([_parsed(item, number, parse) for number, item in batch])


def _parsed(item: Any, number: int, parse: Callable[[Any], Any]) -> Any:
    try:
        return parse(item)
    except InputError as error:
        raise InputError(f"input {number}: {error}") from error


def checked_text(name: str, value: Any) -> str:
    """Raises: InputError for what is no text, is empty, or holds half a surrogate pair."""
    if not isinstance(value, str):
        raise InputError(f"{name} is a {type(value).__name__} ({str(value)[:40]!r}); a text was expected.")
    if not value.strip():
        raise InputError(f"{name} is empty; give a text.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{name} holds half a surrogate pair at character {error.start}.") from error
    return value


def chosen_overflow(given: str | None, default: str, choices: tuple[str, ...]) -> str:
    """What to do with a text that is too long. Raises: OptionError for an unknown word."""
    if given is not None and given not in choices:
        raise OptionError(f"on_overflow {given!r} is not here; it is one of {', '.join(choices)}.")
    return given or default
