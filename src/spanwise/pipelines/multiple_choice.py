"""The choice that fits best: `pipeline("multiple-choice", model=FOLDER)`."""

import dataclasses

from spanwise.errors import DataError
from spanwise.pipelines.base import CallOptions, Reading, TaskPipeline
from spanwise.pipelines.given import InputError, checked_text, refuse_others
from spanwise.tasks.multiple_choice.reader import ChoiceData, Question, checked_question


class Choice(Reading):
    """The number of the best choice, counted from 0, its text and its probability, and those of all choices."""

    choice: int
    answer: str
    score: float
    scores: list[float]


class MultipleChoicePipeline(TaskPipeline[Question, Choice, CallOptions]):
    """`choose({"context", "question", "choices"})` -> `{"choice", "answer", "score", "scores", "num_windows",
    "num_dropped_tokens"}`.

    One of "context" and "question" may be left out; the number of choices is free. `on_overflow="error"` refuses
    passages that are too long.
    """

    name, task_name = "multiple-choice", "multiple-choice"
    options_type = CallOptions
    overflow_choices = ("truncate", "error")

    def _parse(self, item: object, options: CallOptions) -> Question:
        refuse_others(item, ("context", "question", "choices"))
        if not isinstance(item, dict) or "choices" not in item:
            raise InputError(f"{{'context', 'question', 'choices'}} was expected, got {str(item)[:60]!r}.")
        texts = [checked_text(f"{name!r}", item[name]) if item.get(name) else "" for name in ("context", "question")]
        try:
            return checked_question("", texts[0], texts[1], item["choices"], None, "the input")
        except DataError as error:
            raise InputError(str(error)) from error

    def _answer(self, items: list[Question], options: CallOptions, first: int) -> list[Choice]:
        named = tuple(
            dataclasses.replace(question, id=str(number), where=f"input {number}")
            for number, question in enumerate(items, first)
        )
        return self._records(ChoiceData(source="the input", questions=named), len(named), options)
