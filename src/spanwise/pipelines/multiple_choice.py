"""The choice that fits best: `pipeline("multiple-choice", model=FOLDER)`."""

from __future__ import annotations

import dataclasses
from typing import Any

from spanwise.errors import DataError
from spanwise.pipelines.base import TaskPipeline
from spanwise.pipelines.several import InputError, answer_all, checked_text
from spanwise.tasks.multiple_choice.reader import ChoiceData, Question, checked_question


class MultipleChoicePipeline(TaskPipeline):
    """`choose({"context", "question", "choices"})` -> `{"choice", "answer", "score", "scores", "num_windows",
    "num_dropped_tokens"}`.

    `model` is a folder or hub id of a fine-tuned model; `on_overflow="error"` refuses passages that are too long.
    """

    task_name = "multiple-choice"
    overflow_choices = ("truncate", "error")

    def __call__(self, inputs: Any) -> Any:
        """Choose for one dictionary, a list of them, or a generator. One of "context" and "question" may be left out;
        the number of choices is free. "choice" counts from 0.

        Raises: InputError (a DataError and ValueError) naming the input that is none.
        """
        return answer_all(inputs, self._parse, self._answer)

    def _parse(self, item: Any) -> Question:
        if not isinstance(item, dict) or "choices" not in item or set(item) - {"context", "question", "choices"}:
            raise InputError(f"{{'context', 'question', 'choices'}} was expected, got {str(item)[:60]!r}.")
        texts = [checked_text(f"{name!r}", item[name]) if item.get(name) else "" for name in ("context", "question")]
        try:
            return checked_question("", texts[0], texts[1], item["choices"], None, "the input")
        except DataError as error:
            raise InputError(str(error)) from error

    def _answer(self, questions: list[Question]) -> list[dict[str, Any]]:
        named = tuple(
            dataclasses.replace(question, id=str(number), where=f"input {number}")
            for number, question in enumerate(questions)
        )
        data = ChoiceData(source="the input", questions=named)
        predictions = self._predict(data)
        return [predictions.record(number) for number in range(len(named))]
