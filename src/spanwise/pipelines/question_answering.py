"""Ask questions of texts: the call and the answers of the pipeline that transformers removed in version 5.3.

Source: behaviour of `transformers.pipeline("question-answering")`, version 5.2; ECOSYSTEM section 2.
Differs: `max_question_len` is kept (fast tokenizers ignored it); a word at the border of a window is not cut by
`align_to_words`; [CLS] is never offered as an answer of score 0.
"""

from __future__ import annotations

import contextlib
import itertools
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from spanwise.errors import DataError
from spanwise.pipelines.given import OptionError, check_framework, chosen_device, option_values, precision_of, readable
from spanwise.runtime.device import Precision
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.qa.data import Question, SquadData
from spanwise.tasks.qa.features import make_windows
from spanwise.tasks.qa.probabilities import scored_answers

_HARMLESS = frozenset({"padding", "batch_size", "num_workers"})  # of old code; how windows are packed is our matter


class QuestionError(DataError, ValueError):
    """A question or context that can't be asked; a ValueError too, as the old pipeline raised."""


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """The options of a call, with the old pipeline's names and defaults.

    `doc_stride` is the number of passage tokens that neighbouring windows share (None: half of `max_seq_len`, at most
    128); `max_seq_len` None is 384, or all positions of a smaller encoder. Lengths are in tokens.
    """

    top_k: int = 1
    doc_stride: int | None = None
    max_answer_len: int = 15
    max_seq_len: int | None = None
    max_question_len: int = 64
    handle_impossible_answer: bool = False
    align_to_words: bool = True

    def __post_init__(self) -> None:
        for name in ("top_k", "max_answer_len", "max_question_len"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} must be at least 1, got {getattr(self, name)}.")


_OPTIONS = tuple(AnswerOptions.__dataclass_fields__)


class QuestionAnsweringPipeline:
    """`qa(question=..., context=...)` -> `{"score", "start", "end", "answer"}`.

    `model` is a folder (or hub id) of a fine-tuned model, `tokenizer` another folder or a `Tokenizer`; objects of
    transformers are read through their `save_pretrained`. The options of a call (see `AnswerOptions`) can be given here
    as new defaults. `device` is a torch name, or a number as in transformers (-1 is the CPU). For old code,
    `torch_dtype` and `dtype` choose the precision where `precision` does not; `framework`, `use_fast`, `batch_size` and
    `num_workers` change nothing.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        device: str | int | None = None,
        precision: Precision | None = None,
        framework: str = "pt",
        use_fast: bool = True,
        torch_dtype: Any = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        check_framework(framework)
        with contextlib.ExitStack() as stack:
            model, tokenizer = readable("model", model, stack), readable("tokenizer", tokenizer, stack)
            loaded = load_task_model(model, "qa", tokenizer=tokenizer, device=chosen_device(device))
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        self.precision = precision or precision_of(dtype if dtype is not None else torch_dtype)
        self._defaults = option_values(options, _OPTIONS, _HARMLESS, "question answering")
        AnswerOptions(**self._defaults)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Answer one or more questions.

        Takes `question=` and `context=` (strings or lists; one context serves a list of questions), or one dictionary
        `{"question", "context"}`, a list of them, objects with `question_text` and `context_text`, two strings, or a
        generator of dictionaries (then the answers come as a generator).

        Returns a dictionary `{"score": probability, "start", "end": half-open characters of the context, "answer"}`
        for one question, a list of them for several; with `top_k` above 1 a list takes the dictionary's place. A list
        of one question counts as one question, and a list of one answer as one answer, as in the old pipeline. Equal
        answers at several places are one answer with their probabilities added up, so a score may pass 1.

        Raises: QuestionError (a DataError and ValueError) for empty or missing texts; OptionError for an option.
        """
        names = {"question", "context", "X", "data"}
        inputs = _inputs(args, {name: value for name, value in kwargs.items() if name in names})
        others = {name: value for name, value in kwargs.items() if name not in names}
        given = option_values(others, _OPTIONS, _HARMLESS, "question answering")
        options = AnswerOptions(**{**self._defaults, **given})
        if isinstance(inputs, types.GeneratorType):
            return self._stream(inputs, options)
        results = self._answer([_pair(item) for item in inputs], options)
        return results[0] if len(results) == 1 else results

    def _stream(self, items: Iterator[Any], options: AnswerOptions) -> Iterator[Any]:
        for item in items:
            yield self._answer([_pair(item)], options)[0]

    def _answer(self, pairs: list[tuple[str, str]], options: AnswerOptions) -> list[Any]:
        """All windows of all questions in packs, then each question on its own."""
        if not pairs:
            return []
        positions = self.model.encoder.config.max_positions
        max_length = options.max_seq_len if options.max_seq_len is not None else min(384, positions)
        if not 8 <= max_length <= positions:
            raise OptionError(f"max_seq_len {max_length} is outside 8 to {positions}, the positions of this encoder.")
        overlap = options.doc_stride if options.doc_stride is not None else min(max_length // 2, 128)
        if not 0 <= overlap <= max_length:
            raise OptionError(f"doc_stride {overlap} is larger than max_seq_len {max_length}, or below 0.")
        data = _as_data(pairs)
        windows = make_windows(
            data,
            self.tokenizer,
            max_length=max_length,
            overlap=overlap,
            max_question_tokens=options.max_question_len,
            num_token_types=self.model.encoder.config.num_token_types,
        )
        logits = self.model.outputs(windows, precision=self.precision)
        borders = np.searchsorted(windows.question_W, np.arange(len(pairs) + 1))
        results = []
        for number, (first, last) in enumerate(itertools.pairwise(borders)):
            answers = scored_answers(
                windows,
                range(first, last),
                logits[first:last],
                pairs[number][1],
                top_k=options.top_k,
                max_answer_tokens=options.max_answer_len,
                align_to_words=options.align_to_words,
                with_null=options.handle_impossible_answer,
            )
            found = [
                {"score": answer.score, "start": answer.start, "end": answer.end, "answer": answer.text}
                for answer in answers
            ]
            results.append(found[0] if len(found) == 1 else found)
        return results


def _inputs(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
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
    return [{"question": question, "context": context}]


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
    return _checked_text("question", values["question"]), _checked_text("context", values["context"])


def _checked_text(name: str, value: Any) -> str:
    if value is None:
        raise QuestionError(f"{name!r} is missing or None; give a text.")
    if not isinstance(value, str):
        raise QuestionError(f"{name!r} is a {type(value).__name__}; a string was expected.")
    if not value:
        raise QuestionError(f"{name!r} is empty; give a text.")
    return value


def _as_data(pairs: list[tuple[str, str]]) -> SquadData:
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
