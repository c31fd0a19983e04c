"""Labels or numbers for texts and pairs of texts: `pipeline("text-classification", model=FOLDER)`."""

from typing import TypedDict, get_args

from spanwise.pipelines.base import CallOptions, Reading, TaskPipeline
from spanwise.pipelines.given import InputError, checked_text, refuse_others
from spanwise.tasks.classification.features import Overflow
from spanwise.tasks.classification.reader import TextData
from spanwise.tasks.classification.task import Classification


class _Verdict(TypedDict, total=False):
    label: str
    score: float
    labels: list[str]
    scores: dict[str, float]
    value: float


class Classified(Reading, _Verdict):
    """A label with its probability, all labels that hold, or a number, as the model was fine-tuned."""


class TextClassificationPipeline(TaskPipeline[tuple[str, str | None], Classified, CallOptions]):
    """`classify(text)` -> `{"label", "score", "scores", "num_windows", "num_dropped_tokens"}`.

    An input is a text or a pair `{"text", "text_pair"}`. A model with several labels per example gives "labels", one
    of numbers "value". `on_overflow` ("truncate", "windows", "error") says what is done with a text longer than the
    model reads; "num_dropped_tokens" counts what the model did not see.
    """

    name, task_name = "text-classification", "classification"
    options_type = CallOptions
    overflow_choices = get_args(Overflow)
    task: Classification

    def _parse(self, item: object, options: CallOptions) -> tuple[str, str | None]:
        if isinstance(item, str):
            item = {"text": item}
        refuse_others(item, ("text", "text_pair"))
        if not isinstance(item, dict) or "text" not in item:
            raise InputError(
                f"a text or {{'text', 'text_pair'}} was expected, got {type(item).__name__} {str(item)[:60]!r}."
            )
        second = item.get("text_pair")
        if self.task.is_pair is not None and (second is not None) is not self.task.is_pair:
            pairs, singles = "pairs: give {'text': ..., 'text_pair': ...}", "single texts: leave 'text_pair' out"
            raise InputError(f"this model was fine-tuned on {pairs if self.task.is_pair else singles}.")
        return checked_text("'text'", item["text"]), None if second is None else checked_text("'text_pair'", second)

    def _answer(self, items: list[tuple[str, str | None]], options: CallOptions, first: int) -> list[Classified]:
        found: dict[int, Classified] = {}
        for is_pair in (False, True):  # a model of others may take both
            numbers = [number for number, (_, second) in enumerate(items) if (second is not None) is is_pair]
            if numbers:
                data = _as_data([items[number] for number in numbers], [first + number for number in numbers])
                found |= zip(numbers, self._records(data, len(numbers), options), strict=True)
        return [found[number] for number in range(len(items))]


def _as_data(items: list[tuple[str, str | None]], numbers: list[int]) -> TextData:
    return TextData(
        source="the input",
        ids=tuple(map(str, numbers)),
        texts=tuple(first for first, _ in items),
        pairs=tuple(second for _, second in items if second is not None) or None,
        labels=(),
        kind="single_label",
        places=tuple(f"input {number}" for number in numbers),
    )
