"""Labels or numbers for texts and pairs of texts: `pipeline("text-classification", model=FOLDER)`."""

from __future__ import annotations

from typing import Any, get_args

from spanwise.pipelines.base import TaskPipeline
from spanwise.pipelines.several import InputError, answer_all, checked_text
from spanwise.tasks.classification.features import Overflow
from spanwise.tasks.classification.reader import TextData


class TextClassificationPipeline(TaskPipeline):
    """`classify(text)` -> `{"label", "score", "scores", "num_windows", "num_dropped_tokens"}`.

    `model` is a folder or hub id of a fine-tuned model; `on_overflow` ("truncate", "windows", "error") says what is
    done with a text longer than the model reads (None: as it was fine-tuned).
    """

    task_name = "classification"
    overflow_choices = get_args(Overflow)

    def __call__(self, inputs: Any) -> Any:
        """Classify a text, a pair `{"text", "text_pair"}`, a list of either, or a generator of them.

        Returns a dictionary for one, a list for a list, a generator for a generator. A model with several labels an
        example gives "labels", one of numbers "value". "num_dropped_tokens" counts what the model did not see.

        Raises: InputError (a DataError and ValueError) naming the input that is no text, or too long under
        on_overflow="error".
        """
        return answer_all(inputs, self._parse, self._answer)

    def _parse(self, item: Any) -> tuple[str, str | None]:
        if isinstance(item, str):
            item = {"text": item}
        if not isinstance(item, dict) or "text" not in item or set(item) - {"text", "text_pair"}:
            raise InputError(
                f"a text or {{'text', 'text_pair'}} was expected, got {type(item).__name__} {str(item)[:60]!r}."
            )
        second = item.get("text_pair")
        if self.task.is_pair is not None and (second is not None) is not self.task.is_pair:
            wanted = (
                "pairs: give {'text': ..., 'text_pair': ...}"
                if self.task.is_pair
                else "single texts: leave 'text_pair' out"
            )
            raise InputError(f"this model was fine-tuned on {wanted}.")
        return checked_text("'text'", item["text"]), None if second is None else checked_text("'text_pair'", second)

    def _answer(self, items: list[tuple[str, str | None]]) -> list[dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        for is_pair in (False, True):  # a model of others may take both
            numbers = [number for number, (_, second) in enumerate(items) if (second is not None) is is_pair]
            if numbers:
                data = _as_data([items[number] for number in numbers], numbers)
                predictions = self._predict(data)
                found |= {number: predictions.record(place) for place, number in enumerate(numbers)}
        return [found[number] for number in range(len(items))]


def _as_data(items: list[tuple[str, str | None]], numbers: list[int]) -> TextData:
    pairs = tuple(second for _, second in items if second is not None)
    return TextData(
        source="the input",
        ids=tuple(map(str, numbers)),
        texts=tuple(first for first, _ in items),
        pairs=pairs or None,
        labels=(),
        kind="single_label",
        places=tuple(f"input {number}" for number in numbers),
    )
