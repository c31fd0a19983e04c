"""The relation between two mentions of a text: `pipeline("relation-extraction", model=FOLDER)`."""

import dataclasses

from spanwise.errors import DataError
from spanwise.pipelines.base import CallOptions, Reading, Span, TaskPipeline
from spanwise.pipelines.given import InputError, checked_text, refuse_others
from spanwise.tasks.relation.pairs import Mention, Pair, RelationData, checked_pair
from spanwise.tasks.relation.reader import mention_of


class Relation(Reading):
    """A relation with its probability, those of all relations, and the two mentions."""

    label: str
    score: float
    scores: dict[str, float]
    subject: Span
    object: Span


class RelationExtractionPipeline(TaskPipeline[Pair, Relation, CallOptions]):
    """`relate({"text", "subject", "object"})` -> `{"label", "score", "scores", "subject", "object", "num_windows",
    "num_dropped_tokens"}`.

    A mention is `[start, end]` in characters of the text, half-open, or `{"start", "end", "type"}`; the answer repeats
    both with their texts. The record of the model says how mentions are marked. `on_overflow="error"` refuses texts
    that are too long; otherwise their words farthest from both mentions are left out.
    """

    name, task_name = "relation-extraction", "relation"
    options_type = CallOptions
    overflow_choices = ("truncate", "error")

    def _parse(self, item: object, options: CallOptions) -> Pair:
        refuse_others(item, ("text", "subject", "object"))
        if not isinstance(item, dict) or {"text", "subject", "object"} - set(item):
            raise InputError(f"{{'text', 'subject', 'object'}} was expected, got {str(item)[:60]!r}.")
        text = checked_text("'text'", item["text"])
        try:
            mentions = [mention_of(item[name], f"{name!r}") for name in ("subject", "object")]
            return checked_pair("", text, mentions[0], mentions[1], "", "the input")
        except DataError as error:
            raise InputError(str(error)) from error

    def _answer(self, items: list[Pair], options: CallOptions, first: int) -> list[Relation]:
        numbered = tuple(
            dataclasses.replace(pair, id=str(number), where=f"input {number}")
            for number, pair in enumerate(items, first)
        )
        data = RelationData(source="the input", pairs=numbered, format="spans")
        answers = self._records(data, len(items), options)
        for answer, pair in zip(answers, items, strict=True):
            answer["subject"], answer["object"] = _span(pair.text, pair.subject), _span(pair.text, pair.object)
        return answers


def _span(text: str, mention: Mention) -> Span:
    return {"start": mention.start, "end": mention.end, "text": text[mention.start : mention.end]}
