"""The choice that fits best: `pipeline("multiple-choice", model=FOLDER)`."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

from spanwise.errors import DataError
from spanwise.pipelines.several import InputError, answer_all, checked_text, chosen_overflow, open_task
from spanwise.runtime.device import Precision
from spanwise.tasks.multiple_choice.reader import ChoiceData, Question, checked_question
from spanwise.tasks.multiple_choice.task import MultipleChoice


class MultipleChoicePipeline:
    """`choose({"context", "question", "choices"})` -> `{"choice", "answer", "score", "scores", "num_windows",
    "num_dropped_tokens"}`.

    `model` is a folder or hub id of a fine-tuned model; `on_overflow="error"` refuses passages that are too long.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        device: str | int | None = None,
        precision: Precision = "fp32",
        on_overflow: str | None = None,
    ) -> None:
        loaded = open_task("multiple-choice", model, tokenizer, device)
        task = cast(MultipleChoice, loaded.task)
        choice = chosen_overflow(on_overflow, task.on_overflow, ("truncate", "error"))
        self.task = dataclasses.replace(task, on_overflow=cast(Any, choice))
        self.model, self.tokenizer, self.precision = loaded.model, loaded.tokenizer, precision

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
        features = self.task.featurize(data, self.tokenizer, self.model.encoder.config, training=False)
        predictions = self.task.decode(data, features, self.model.outputs(features, precision=self.precision))
        return [predictions.record(number) for number in range(len(named))]
