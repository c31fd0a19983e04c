"""The relation between two mentions of a text: `pipeline("relation-extraction", model=FOLDER)`."""

from __future__ import annotations

import dataclasses
from typing import Any

from spanwise.errors import DataError
from spanwise.pipelines.base import TaskPipeline
from spanwise.pipelines.several import InputError, answer_all, checked_text
from spanwise.tasks.relation.pairs import Pair, RelationData, checked_pair
from spanwise.tasks.relation.reader import mention_of


class RelationExtractionPipeline(TaskPipeline):
    """`relate({"text", "subject", "object"})` -> `{"label", "score", "scores", "num_windows", "num_dropped_tokens"}`.

    `model` is a folder or hub id of a model fine-tuned here (its record says how mentions are marked);
    `on_overflow="error"` refuses texts that are too long, of which else the words farthest from both mentions go.
    """

    task_name = "relation"
    overflow_choices = ("truncate", "error")

    def __call__(self, inputs: Any) -> Any:
        """Relate the mentions of one `{"text", "subject", "object"}`, of a list, or of a generator.

        A mention is `[start, end]` in characters of the text, half-open, or `{"start", "end", "type"}`; the answer
        repeats both with their texts.

        Raises: InputError (a DataError and ValueError) naming the input that is none.
        """
        return answer_all(inputs, self._parse, self._answer)

    def _parse(self, item: Any) -> Pair:
        if not isinstance(item, dict) or {"text", "subject", "object"} - set(item):
            raise InputError(f"{{'text', 'subject', 'object'}} was expected, got {str(item)[:60]!r}.")
        text = checked_text("'text'", item["text"])
        try:
            mentions = [mention_of(item[name], f"{name!r}") for name in ("subject", "object")]
            return checked_pair("", text, mentions[0], mentions[1], "", "the input")
        except DataError as error:
            raise InputError(str(error)) from error

    def _answer(self, pairs: list[Pair]) -> list[dict[str, Any]]:
        numbered = tuple(
            dataclasses.replace(pair, id=str(number), where=f"input {number}") for number, pair in enumerate(pairs)
        )
        data = RelationData(source="the input", pairs=numbered, format="spans")
        predictions = self._predict(data)
        answers = []
        for number, pair in enumerate(pairs):
            mentions = {
                name: {"start": m.start, "end": m.end, "text": pair.text[m.start : m.end]}
                for name, m in (("subject", pair.subject), ("object", pair.object))
            }
            answers.append({**predictions.record(number), **mentions})
        return answers
