"""Ask questions of texts: the call of the pipeline that transformers removed in version 5.3, and answers by its rules
or by the model's own.

| rules | windows, limits | score |
|---|---|---|
| classic | 384 tokens, answers of 15, whole words | start times end probability, equal texts added up |
| task | as the model was fine-tuned | the probability that `predict` writes; may say that there is no answer |

A folder that records its task answers by it, as `evaluate` and `predict` do; a folder of others answers as the old
pipeline did. `rules=` chooses by hand.

Source: behaviour of `transformers.pipeline("question-answering")`, version 5.2.
Differs: `max_question_len` is kept (fast tokenizers ignored it); a word at the border of a window is not cut by
`align_to_words`; windows share at most three quarters of their passage tokens, whatever `doc_stride` says; [CLS] is
never offered as an answer of score 0; a quarter of every window is kept for the passage, and a longer question is cut
and counted, where the old pipeline ended in an error of the tokenizer; "[SEP]" in a text is plain text, where the old
pipeline read the special token. The same as there: with `top_k` above 1 an answer that stays alone is a dictionary, not
a list of one.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict, get_args

import numpy as np

from spanwise.pipelines.base import STREAM_BATCH, CallOptions, TaskPipeline
from spanwise.pipelines.given import InputError, OptionError, checked_text, whole_number
from spanwise.tasks.qa.data import as_data
from spanwise.tasks.qa.features import QuestionWindows, make_windows
from spanwise.tasks.qa.loss import WindowScores
from spanwise.tasks.qa.ranking import Ranking, SpanAnswer, question_spans, scored_answers
from spanwise.tasks.qa.task import PAPER_MAX_LENGTH, QuestionAnswering

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
    columns = [list(column) if isinstance(column, tuple) else column for column in columns]
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


Rules = Literal["classic", "task"]
CLASSIC_LENGTH, CLASSIC_OVERLAP, CLASSIC_ANSWER, CLASSIC_QUESTION = 384, 128, 15, 64  # in tokens
Pair = tuple[str, str]  # question and context


class QuestionAnswer(TypedDict):
    """`context[start:end] == answer`, with its probability; an empty answer says that there is none."""

    score: float
    start: int
    end: int
    answer: str
    document: NotRequired[int | None]  # in which of several documents
    num_windows: NotRequired[int]
    num_dropped_tokens: NotRequired[int]  # of a question that was cut


Answers = QuestionAnswer | list[QuestionAnswer]  # a list of several answers to one question


@dataclass(frozen=True, kw_only=True)
class AnswerOptions(CallOptions):
    """The options of a call, with the old pipeline's names; None is 15 tokens an answer, 64 a question, whole words and
    no abstaining by the classic rules, and as the model was fine-tuned by the task's.

    `doc_stride` is the number of passage tokens that neighbouring windows share (classic: half of `max_seq_len`, at
    most 128); `max_seq_len` is 384 by the classic rules, or all positions of a smaller encoder. Lengths are in tokens.
    `on_overflow="error"` refuses a question that is longer than `max_question_len`, "truncate" cuts and counts.
    """

    top_k: int = 1
    doc_stride: int | None = None
    max_answer_len: int | None = None
    max_seq_len: int | None = None
    max_question_len: int | None = None
    handle_impossible_answer: bool | None = None
    align_to_words: bool | None = None
    rules: Rules | None = None

    def __post_init__(self) -> None:
        for name in ("top_k", "max_answer_len", "max_seq_len", "max_question_len"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name))
        if self.doc_stride is not None:
            whole_number("doc_stride", self.doc_stride, least=0)
        if self.rules not in (None, *get_args(Rules)):
            raise OptionError(f"rules {self.rules!r} are not here; they are {', '.join(get_args(Rules))}.")


class QuestionAnsweringPipeline(TaskPipeline[Pair, Answers, AnswerOptions]):
    """`qa(question=..., context=...)` -> `{"score", "start", "end", "answer"}`; by the task's rules also `num_windows`
    and `num_dropped_tokens` (of a question that was cut).

    Takes `question=` and `context=` (strings or lists; one context serves a list of questions, one question a list of
    contexts), or one dictionary `{"question", "context"}`, a list of them, objects with `question_text` and
    `context_text`, two strings, or a generator of dictionaries (then the answers come as a generator, a few at a time).
    `qa(question=..., documents=[...])` (a list or generator) looks for the best answers to each question in all of them
    together: `document` is the number of the one that it was found in.

    With `top_k` above 1 a list takes the dictionary's place. A list of one question counts as one question, and a list
    of one answer as one answer, as in the old pipeline. Equal answers at several places are one answer: by the classic
    rules their probabilities are added up (so a score may pass 1), by the task's the best place counts, and there are
    never more than the 20 (`task.num_best`) that share the probability.
    """

    name, task_name = "question-answering", "qa"
    options_type = AnswerOptions
    overflow_choices = ("truncate", "error")
    is_one_for_list_of_one = True
    task: QuestionAnswering

    def __call__(self, *args: object, **kwargs: Any) -> Any:
        """Answer one or more questions; the options are those of `AnswerOptions`.

        Raises: InputError (a DataError and ValueError) for empty or missing texts; OptionError for an option.
        """
        documents = kwargs.pop("documents", None)
        named = {name: kwargs.pop(name) for name in NAMES if name in kwargs}
        if documents is None:
            inputs: Any = given_inputs(args, named)
            return super().__call__(inputs, **kwargs)
        options = self._chosen(kwargs, self._defaults)
        if options.rules == "classic":
            raise OptionError("many documents are answered by the task's rules; leave rules='classic' out.")
        if "context" in named:
            raise InputError("context and documents contradict each other; give one of them.")
        found = self._search(args[0] if len(args) == 1 else named.get("question"), documents, options)
        return found[0] if len(found) == 1 else found

    @property
    def rules(self) -> Rules:
        """The rules of a call that names none."""
        return self._defaults.rules or ("task" if self._is_recorded else "classic")

    def _check(self, options: AnswerOptions) -> None:
        if options.rules == "classic" and self.task.spans == "joint":
            raise OptionError("the classic rules multiply start and end probabilities; this model's spans are joint.")

    def _parse(self, item: object, options: AnswerOptions) -> Pair:
        return pair_of(item)

    def _answer(self, items: list[Pair], options: AnswerOptions, first: int) -> list[Answers]:
        if (options.rules or self.rules) == "classic":
            return self._classic(items, options, first)
        rankings = [Ranking(self.task.num_best) for _ in items]
        dropped = self._rank(rankings, list(range(len(items))), items, [0] * len(items), options, first)
        return [self._finished(*found, options) for found in zip(rankings, dropped, strict=True)]

    def _classic(self, pairs: list[Pair], options: AnswerOptions, number: int) -> list[Answers]:
        """Score all windows of all questions in packs, then answer each question on its own."""
        max_length = self._max_length(options.max_seq_len, CLASSIC_LENGTH)
        overlap = min(max_length // 2, CLASSIC_OVERLAP) if options.doc_stride is None else options.doc_stride
        max_question = options.max_question_len or CLASSIC_QUESTION
        numbers = range(number, number + len(pairs))
        windows, scores, borders = self._scores(pairs, options, numbers, max_length, max_question, overlap)
        results = []
        for (_, context), rows in zip(pairs, borders, strict=True):
            answers = scored_answers(
                windows,
                rows,
                [WindowScores.of(scores[row]).logits_L2 for row in rows],
                context,
                top_k=options.top_k,
                max_answer_tokens=options.max_answer_len or CLASSIC_ANSWER,
                align_to_words=options.align_to_words is not False,
                with_null=bool(options.handle_impossible_answer),
            )
            found = [QuestionAnswer(score=a.score, start=a.start, end=a.end, answer=a.text) for a in answers]
            results.append(_one_or_several(found))
        return results

    def _search(self, question: object, documents: object, options: AnswerOptions) -> list[Answers]:
        """Return the best answers to each question over all documents, read a few at a time."""
        given = question if isinstance(question, list) else [question]
        questions = [checked_text("'question'", text) for text in given]
        rankings = [Ranking(self.task.num_best) for _ in questions]
        dropped = [0] * len(questions)
        stream = numbered_documents(documents)
        while batch := list(itertools.islice(stream, STREAM_BATCH)):
            owners = [owner for owner in range(len(questions)) for _ in batch]
            pairs = [(question, text) for question in questions for _, text in batch]
            numbers = [number for _ in questions for number, _ in batch]
            cut = self._rank(
                rankings, owners, pairs, numbers, options, 0, against_null=self.task.null_threshold is not None
            )
            dropped = cut[:: len(batch)]
        if questions and not rankings[0].num_windows:
            raise InputError("documents is empty; give one or more texts.")
        return [self._finished(*found, options, in_many=True) for found in zip(rankings, dropped, strict=True)]

    def _rank(
        self,
        rankings: list[Ranking],
        owners: list[int],
        pairs: list[Pair],
        documents: list[int],
        options: AnswerOptions,
        number: int,
        *,
        against_null: bool = False,
    ) -> list[int]:
        """Add the candidates of every pair to the ranking of its owner; return how many tokens of each question were
        not read."""
        task = self.task
        max_length = self._max_length(options.max_seq_len or task.max_length, PAPER_MAX_LENGTH)
        max_question = options.max_question_len or task.max_question_tokens
        inputs = [number + owner for owner in owners]
        windows, scores, borders = self._scores(pairs, options, inputs, max_length, max_question, options.doc_stride)
        rule = dataclasses.replace(task.span_rule, max_tokens=options.max_answer_len or task.max_answer_tokens)
        for place, rows in enumerate(borders):
            rankings[owners[place]].add(
                question_spans(windows, rows, scores, rule),
                windows.passage(rows.start),
                pairs[place][1],
                document=documents[place],
                align_to_words=bool(options.align_to_words),
                against_null=against_null,
            )
        return windows.num_dropped_Q.tolist()

    def _scores(
        self,
        pairs: list[Pair],
        options: AnswerOptions,
        numbers: Sequence[int],
        max_length: int,
        max_question: int,
        overlap: int | None,
    ) -> tuple[QuestionWindows, Sequence[np.ndarray | WindowScores], list[range]]:
        """Return the windows of all pairs, the scores of each window, and which windows belong to each pair; `numbers`
        are the inputs that the pairs are of. `overlap` None: windows as the task was fine-tuned."""
        if overlap is not None and overlap > max_length:
            raise OptionError(f"doc_stride {overlap} is larger than max_seq_len {max_length}.")
        windows = make_windows(
            as_data(pairs),
            self.tokenizer,
            max_length=max_length,
            doc_stride=self.task.doc_stride if overlap is None else None,
            overlap=overlap,
            max_question_tokens=max_question,
            num_token_types=self.model.encoder.config.num_token_types,
            mark_shared=self.task.marks_shared,
            frame=self.task.frame(self.tokenizer),
        )
        cut = np.flatnonzero(windows.num_dropped_Q)
        if len(cut) and (options.on_overflow or self.task.on_overflow) == "error":
            first = int(cut[0])
            most = len(windows.question_ids[first])  # fewer than `max_question` where the passage needs the room
            raise InputError(f"input {numbers[first]}: the question is longer than {most} tokens.")
        borders = np.searchsorted(windows.question_W, np.arange(len(pairs) + 1)).tolist()
        scores = self.model.outputs(windows, precision=self.precision, packing=self.packing)
        return windows, scores, [range(*pair) for pair in itertools.pairwise(borders)]

    def _max_length(self, given: int | None, usual: int) -> int:
        positions = self.model.encoder.config.max_positions
        length = given if given is not None else min(usual, positions)
        if not 8 <= length <= positions:
            raise OptionError(f"max_seq_len {length} is outside 8 to {positions}, the positions of this encoder.")
        return length

    def _finished(
        self, ranking: Ranking, num_dropped: int, options: AnswerOptions, *, in_many: bool = False
    ) -> Answers:
        """Return the best answers of a ranking, as the task decides on "no answer"."""
        may_abstain = options.handle_impossible_answer is not False
        task = self.task if may_abstain else dataclasses.replace(self.task, null_threshold=None)
        answers = task.with_probabilities(ranking.answers(), ranking.null_odds)
        if not answers:  # no passage has a token
            answers = [SpanAnswer("", 0, 0, 0.0, 0.0)]
        found = []
        for a in answers[: options.top_k]:
            record = QuestionAnswer(score=a.probability, start=a.start, end=a.end, answer=a.text)
            if in_many:
                record["document"] = a.document if a.text else None
            found.append(QuestionAnswer(**record, num_windows=ranking.num_windows, num_dropped_tokens=num_dropped))
        return _one_or_several(found)


def _one_or_several(found: list[QuestionAnswer]) -> Answers:
    return found[0] if len(found) == 1 else found
