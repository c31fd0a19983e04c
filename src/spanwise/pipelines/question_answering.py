"""Ask questions of texts: the call of the pipeline that transformers removed in version 5.3, and answers by its rules
or by the model's own.

| rules | windows, limits | score |
|---|---|---|
| classic | 384 tokens, answers of 15, whole words | start times end probability, equal texts added up |
| task | as the model was fine-tuned | the probability that `predict` writes; may say that there is no answer |

A folder that records its task answers by it, as `evaluate` and `predict` do; a folder of others answers as the old
pipeline did. `rules=` chooses by hand.

Source: behaviour of `transformers.pipeline("question-answering")`, version 5.2; ECOSYSTEM section 2.
Differs: `max_question_len` is kept (fast tokenizers ignored it); a word at the border of a window is not cut by
`align_to_words`; [CLS] is never offered as an answer of score 0.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np

from spanwise.pipelines.given import OptionError, check_framework, chosen_device, option_values, precision_of, readable
from spanwise.pipelines.question_inputs import (
    NAMES,
    QuestionError,
    as_data,
    checked_text,
    given_inputs,
    numbered_documents,
    pairs_of,
)
from spanwise.runtime.device import Precision
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.qa.features import make_windows
from spanwise.tasks.qa.outputs import WindowScores
from spanwise.tasks.qa.probabilities import scored_answers
from spanwise.tasks.qa.ranking import Ranking, SpanAnswer, question_spans
from spanwise.tasks.qa.task import PAPER_MAX_LENGTH, QuestionAnswering

Rules = Literal["classic", "task"]
CLASSIC_LENGTH = 384
STREAM_BATCH = 32  # inputs of a generator, or documents, that are answered together
_HARMLESS = frozenset({"padding", "batch_size", "num_workers"})  # of old code; how windows are packed is our matter


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """The options of a call, with the old pipeline's names and defaults; by the task's rules only what is given counts,
    and all else is as the model was fine-tuned.

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
    """`qa(question=..., context=...)` -> `{"score", "start", "end", "answer"}`; by the task's rules also `num_windows`
    and `num_dropped_tokens` (of a question that was cut).

    `qa(question=..., documents=[...])` looks for the answer in all of them: `document` is the number of the one that it
    was found in.

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
        rules: Rules | None = None,
        framework: str = "pt",
        use_fast: bool = True,
        torch_dtype: Any = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        check_framework(framework)
        self.precision = precision or precision_of(dtype if dtype is not None else torch_dtype)
        with contextlib.ExitStack() as stack:
            model, tokenizer = readable("model", model, stack), readable("tokenizer", tokenizer, stack)
            loaded = load_task_model(
                model, "qa", tokenizer=tokenizer, device=chosen_device(device), precision=self.precision
            )
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        self.task = cast(QuestionAnswering, loaded.task)
        self.rules = _checked_rules(rules, self.task) or ("task" if loaded.is_recorded else "classic")
        self._defaults = option_values(options, _OPTIONS, _HARMLESS, "question answering")
        AnswerOptions(**self._defaults)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Answer one or more questions.

        Takes `question=` and `context=` (strings or lists; one context serves a list of questions, one question a list
        of contexts), or one dictionary `{"question", "context"}`, a list of them, objects with `question_text` and
        `context_text`, two strings, or a generator of dictionaries (then the answers come as a generator, a few at a
        time). `documents=` (a list or generator) takes the place of `context=` and looks for the best answers to each
        question in all of them together.

        Returns a dictionary `{"score": probability, "start", "end": half-open characters of the context, "answer"}`
        for one question, a list of them for several; with `top_k` above 1 a list takes the dictionary's place. A list
        of one question counts as one question, and a list of one answer as one answer, as in the old pipeline. Equal
        answers at several places are one answer: by the classic rules their probabilities are added up (so a score may
        pass 1), by the task's the best place counts, and there are never more than the 20 (`task.num_best`) that share
        the probability.

        Raises: QuestionError (a DataError and ValueError) for empty or missing texts; OptionError for an option.
        """
        kwargs = dict(kwargs)
        documents = kwargs.pop("documents", None)
        rules = _checked_rules(kwargs.pop("rules", None), self.task)
        named = {name: value for name, value in kwargs.items() if name in NAMES}
        others = {name: value for name, value in kwargs.items() if name not in NAMES}
        given = {**self._defaults, **option_values(others, _OPTIONS, _HARMLESS, "question answering")}
        AnswerOptions(**given)
        if documents is not None:
            if rules == "classic":
                raise OptionError("many documents are answered by the task's rules; leave rules out.")
            return self._search(args, named, documents, given)
        inputs = given_inputs(args, named)
        answer = self._classic if (rules or self.rules) == "classic" else self._by_task
        if isinstance(inputs, types.GeneratorType):
            return self._stream(inputs, answer, given)
        results = answer(pairs_of(inputs), given) if inputs else []
        return results[0] if len(results) == 1 else results

    def _stream(self, items: Iterator[Any], answer: Callable[..., list[Any]], given: dict[str, Any]) -> Iterator[Any]:
        for first in itertools.count(0, STREAM_BATCH):
            batch = list(itertools.islice(items, STREAM_BATCH))
            if not batch:
                return
            yield from answer(pairs_of(batch, first), given)

    def _max_length(self, asked: int | None, usual: int) -> int:
        positions = self.model.encoder.config.max_positions
        length = asked if asked is not None else min(usual, positions)
        if not 8 <= length <= positions:
            raise OptionError(f"max_seq_len {length} is outside 8 to {positions}, the positions of this encoder.")
        return length

    def _classic(self, pairs: list[tuple[str, str]], given: dict[str, Any]) -> list[Any]:
        """All windows of all questions in packs, then each question on its own."""
        options = AnswerOptions(**given)
        max_length = self._max_length(options.max_seq_len, CLASSIC_LENGTH)
        overlap = options.doc_stride if options.doc_stride is not None else min(max_length // 2, 128)
        _check_overlap(overlap, max_length)
        windows = make_windows(
            as_data(pairs),
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
                [WindowScores.of(said).logits_L2 for said in logits[first:last]],
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

    def _by_task(self, pairs: list[tuple[str, str]], given: dict[str, Any]) -> list[Any]:
        """The answers that `predict` writes."""
        rankings = [Ranking(self.task.num_best) for _ in pairs]
        dropped = self._rank(rankings, list(range(len(pairs))), pairs, [0] * len(pairs), given)
        return [self._told(*found, given) for found in zip(rankings, dropped, strict=True)]

    def _search(self, args: tuple[Any, ...], named: dict[str, Any], documents: Any, given: dict[str, Any]) -> Any:
        """The best answers to each question over all documents, read a few at a time."""
        if "context" in named:
            raise QuestionError("context and documents contradict each other; give one of them.")
        asked = args[0] if len(args) == 1 else named.get("question")
        questions = [checked_text("question", text) for text in (asked if isinstance(asked, list) else [asked])]
        rankings = [Ranking(self.task.num_best) for _ in questions]
        dropped = [0] * len(questions)
        stream = numbered_documents(documents)
        while batch := list(itertools.islice(stream, STREAM_BATCH)):
            owners = [owner for owner in range(len(questions)) for _ in batch]
            pairs = [(question, text) for question in questions for _, text in batch]
            numbers = [number for _ in questions for number, _ in batch]
            cut = self._rank(rankings, owners, pairs, numbers, given)
            dropped = [cut[owner * len(batch)] for owner in range(len(questions))]
        if questions and not rankings[0].num_windows:
            raise QuestionError("documents is empty; give one or more texts.")
        results = [self._told(*found, given, has_document=True) for found in zip(rankings, dropped, strict=True)]
        return results[0] if len(results) == 1 else results

    def _rank(
        self,
        rankings: list[Ranking],
        owners: list[int],
        pairs: list[tuple[str, str]],
        numbers: list[int],
        given: dict[str, Any],
    ) -> list[int]:
        """Add the candidates of every pair to the ranking of its owner; how many tokens of each question were not
        read."""
        task = self.task
        max_length = self._max_length(given.get("max_seq_len", task.max_length), PAPER_MAX_LENGTH)
        overlap = given.get("doc_stride")
        if overlap is not None:
            _check_overlap(overlap, max_length)
        windows = make_windows(
            as_data(pairs),
            self.tokenizer,
            max_length=max_length,
            doc_stride=task.doc_stride if overlap is None else None,
            overlap=overlap,
            max_question_tokens=given.get("max_question_len", task.max_question_tokens),
            num_token_types=self.model.encoder.config.num_token_types,
        )
        said = self.model.outputs(windows, precision=self.precision)
        borders = np.searchsorted(windows.question_W, np.arange(len(pairs) + 1))
        max_answer_tokens = given.get("max_answer_len", task.max_answer_tokens)
        for place, (first, last) in enumerate(itertools.pairwise(borders)):
            spans = question_spans(windows, range(first, last), said, max_answer_tokens)
            rankings[owners[place]].add(
                spans,
                windows.passage(first),
                pairs[place][1],
                document=numbers[place],
                align_to_words=given.get("align_to_words", False),
            )
        return windows.num_dropped_Q.tolist()

    def _told(self, ranking: Ranking, num_dropped: int, given: dict[str, Any], *, has_document: bool = False) -> Any:
        may_abstain = given.get("handle_impossible_answer", True)
        task = self.task if may_abstain else dataclasses.replace(self.task, null_threshold=None)
        answers = task.told(ranking.answers(), ranking.null_odds)
        if not answers:  # no passage has a token
            answers = [SpanAnswer("", 0, 0, 0.0, 0.0)]
        found = []
        for answer in answers[: given.get("top_k", 1)]:
            record: dict[str, Any] = {
                "score": answer.probability,
                "start": answer.start,
                "end": answer.end,
                "answer": answer.text,
            }
            if has_document:
                record["document"] = answer.document if answer.text else None
            found.append(record | {"num_windows": ranking.num_windows, "num_dropped_tokens": num_dropped})
        return found[0] if len(found) == 1 else found


def _checked_rules(rules: Any, task: QuestionAnswering) -> Rules | None:
    """Raises: OptionError for unknown rules, or the old ones of a head that has no start and end apart."""
    if rules is not None and rules not in get_args(Rules):
        raise OptionError(f"rules {rules!r} are not here; they are {', '.join(get_args(Rules))}.")
    if rules == "classic" and task.spans == "joint":
        raise OptionError("the classic rules multiply start and end probabilities; this model's spans are joint.")
    return rules


def _check_overlap(overlap: int, max_length: int) -> None:
    if not 0 <= overlap <= max_length:
        raise OptionError(f"doc_stride {overlap} is larger than max_seq_len {max_length}, or below 0.")
