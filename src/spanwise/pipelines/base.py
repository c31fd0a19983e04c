"""The base of all pipelines: how a model is opened, which forms an input may have, and how options are checked."""

import contextlib
import dataclasses
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypedDict, TypeVar, cast, overload

from spanwise.pipelines.given import (
    InputError,
    OptionError,
    Source,
    TokenizerSource,
    check_framework,
    chosen_device,
    option_values,
    precision_of,
    readable,
)
from spanwise.runtime.device import Precision
from spanwise.tasks.batches import PREDICTION, Packing
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.model import TaskModel
from spanwise.text.tokenizers import Tokenizer

STREAM_BATCH = 32  # inputs of a generator that are answered together
HARMLESS = frozenset({"padding", "truncation", "batch_size", "num_workers", "tokenizer_kwargs", "use_fast"})

Item = TypeVar("Item")  # an input that was checked
Answer = TypeVar("Answer")  # what one input is answered with
Options = TypeVar("Options", bound="CallOptions")


class Span(TypedDict):
    """A part of a text: `text[start:end]` is its own `text`."""

    start: int
    end: int
    text: str


class Reading(TypedDict):
    """How a text was read: in how many windows, and how many of its tokens the model did not see."""

    num_windows: int
    num_dropped_tokens: int


@dataclass(frozen=True, kw_only=True)
class CallOptions:
    """The options of a call. `on_overflow`: what is done with a text that is longer than the model reads."""

    on_overflow: str | None = None


class Pipeline(ABC, Generic[Item, Answer, Options]):
    """Texts in, answers out. A pipeline says how an input is parsed and how parsed inputs are answered.

    `model` is a folder or hub id, `tokenizer` another folder or a `Tokenizer` (None: the model's own); objects of
    transformers are read through their `save_pretrained`. `device` is a torch name, or a number as in transformers (-1
    is the CPU). `packing` says how inputs are packed (tasks/batches.py): in packs of a fixed shape an answer's bits do
    not depend on other inputs, whatever this machine's kernels do. The options of a call can be given here as new
    defaults. For old code, `torch_dtype` and `dtype` choose the precision where `precision` does not; `framework`,
    `use_fast`, `batch_size` and `num_workers` change nothing.

    Raises: CheckpointError for a model that can't do this; OptionError (a ConfigError and ValueError) for an option.
    """

    name: ClassVar[str]
    tokenizer: Tokenizer
    options_type: type[Options]
    overflow_choices: ClassVar[tuple[str, ...]] = ("windows", "error")
    is_one_for_list_of_one: ClassVar[bool] = False  # as the pipelines of transformers have it for some tasks

    def __init__(
        self,
        model: Source,
        tokenizer: TokenizerSource | None = None,
        *,
        device: str | int | None = None,
        precision: Precision | None = None,
        packing: Packing = PREDICTION,
        framework: str = "pt",
        dtype: object = None,
        torch_dtype: object = None,
        **options: Any,
    ) -> None:
        check_framework(framework)
        self.packing = packing
        self.precision: Precision = precision or precision_of(dtype if dtype is not None else torch_dtype)
        self._defaults = self._chosen(options, self.options_type())
        with contextlib.ExitStack() as stack:
            source, words = readable("model", model, stack), readable("tokenizer", tokenizer, stack)
            self._open(cast(str | Path, source), words, chosen_device(device))
        self._check(self._defaults)

    @overload
    def __call__(self, inputs: str | Mapping[str, Any], **options: Any) -> Answer: ...

    @overload
    def __call__(self, inputs: list[Any] | tuple[Any, ...], **options: Any) -> list[Answer]: ...

    @overload
    def __call__(self, inputs: Iterator[Any], **options: Any) -> Iterator[Answer]: ...

    def __call__(self, inputs: object, **options: Any) -> Answer | list[Answer] | Iterator[Answer]:
        """Answer one input, a list (then with a list) or a generator (then with one, a few inputs at a time).

        Raises: InputError (a DataError and ValueError) naming the input that can't be answered; OptionError.
        """
        chosen = self._chosen(options, self._defaults)
        self._check(chosen)
        if isinstance(inputs, Iterator):  # a generator, map, zip, an open file
            return self._stream(inputs, chosen)
        if isinstance(inputs, str | bytes | Mapping) or not isinstance(inputs, Iterable):
            return self._answer([self._parse(inputs, chosen)], chosen, 0)[0]
        items = [self._parsed(item, number, chosen) for number, item in enumerate(inputs)]
        answers = self._answer(items, chosen, 0) if items else []
        return answers[0] if self.is_one_for_list_of_one and len(answers) == 1 else answers

    @abstractmethod
    def _open(self, model: str | Path, tokenizer: str | Path | Tokenizer | None, device: str | None) -> None:
        """Read the model. Raises: CheckpointError for one that can't do this."""

    def _check(self, options: Options) -> None:
        """Refuse options that this model can't follow."""

    @abstractmethod
    def _parse(self, item: object, options: Options) -> Item:
        """Return one input in the form that `_answer` takes. Raises: InputError."""

    @abstractmethod
    def _answer(self, items: list[Item], options: Options, first: int) -> list[Answer]:
        """Return an answer per item; the first of them is input number `first` of the call."""

    def _chosen(self, given: Mapping[str, Any], defaults: Options) -> Options:
        known = [field.name for field in dataclasses.fields(defaults)]
        chosen = dataclasses.replace(defaults, **option_values(given, known, HARMLESS, self.name))
        if chosen.on_overflow not in (None, *self.overflow_choices):
            choices = ", ".join(self.overflow_choices)
            raise OptionError(f"on_overflow {chosen.on_overflow!r} is not here; it is one of {choices}.")
        return chosen

    def _stream(self, items: Iterator[object], options: Options) -> Iterator[Answer]:
        for first in itertools.count(0, STREAM_BATCH):
            batch = list(itertools.islice(items, STREAM_BATCH))
            if not batch:
                return
            parsed = [self._parsed(item, number, options) for number, item in enumerate(batch, first)]
            yield from self._answer(parsed, options, first)

    def _parsed(self, item: object, number: int, options: Options) -> Item:
        try:
            return self._parse(item, options)
        except InputError as error:
            raise InputError(f"input {number}: {error}") from error


class _Predictions(Protocol):
    def record(self, number: int) -> dict[str, Any]: ...


class TaskPipeline(Pipeline[Item, Answer, Options]):
    """A fine-tuned model that answers as its task says; `on_overflow` None does what the task was fine-tuned with."""

    task_name: ClassVar[str]  # of tasks/registry.py
    task: Any  # the task of `task_name`, which each pipeline of a task declares
    model: TaskModel

    def _open(self, model: str | Path, tokenizer: str | Path | Tokenizer | None, device: str | None) -> None:
        loaded = load_task_model(model, self.task_name, tokenizer=tokenizer, device=device, precision=self.precision)
        self.task, self.model, self.tokenizer = loaded.task, loaded.model, loaded.tokenizer
        self._is_recorded = loaded.is_recorded

    def _predictions(self, data: object, options: Options) -> _Predictions:
        """Return the task's predictions of its data; all windows go through the encoder in packs."""
        task = self.task
        if options.on_overflow is not None and hasattr(task, "on_overflow"):  # some read texts of any length
            task = dataclasses.replace(cast(Any, task), on_overflow=options.on_overflow)
        features = task.featurize(data, self.tokenizer, self.model.encoder.config, training=False)
        return task.decode(data, features, self.model.outputs(features, precision=self.precision, packing=self.packing))

    def _records(self, data: object, count: int, options: Options) -> list[Answer]:
        predictions = self._predictions(data, options)
        return [cast(Answer, predictions.record(number)) for number in range(count)]
