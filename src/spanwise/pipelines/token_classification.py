"""Spans of given types, or the class of each word, in raw text: `pipeline("token-classification", model=FOLDER)`."""

import dataclasses

from spanwise.pipelines.base import CallOptions, Reading, Span, TaskPipeline
from spanwise.pipelines.given import InputError, checked_text
from spanwise.tasks.tagging.sentences import Kind, Level, Sentence, TaggedData, split_words
from spanwise.tasks.tagging.task import Tagging


class TaggedSpan(Span):
    """A span of a text with its label and that label's probability."""

    label: str
    score: float


class Tagged(Reading):
    """The spans of a text, in order."""

    spans: list[TaggedSpan]


class TokenClassificationPipeline(TaskPipeline[Sentence, Tagged, CallOptions]):
    """`tag(text)` -> `{"spans": [{"start", "end", "text", "label", "score"}], "num_windows", "num_dropped_tokens"}`.

    An input is a text, which is split into words at blanks and punctuation where the model reads words, or
    `{"words": [...]}` (words are then parted by blanks). Offsets are characters of the text as given. Texts of any
    length are read in windows; `on_overflow="error"` refuses those that need more than one.
    """

    name, task_name = "token-classification", "tagging"
    options_type = CallOptions
    task: Tagging

    def _parse(self, item: object, options: CallOptions) -> Sentence:
        by_words = self.task.level != "characters"
        if isinstance(item, dict) and set(item) == {"words"}:
            words = item["words"]
            if not isinstance(words, list) or not words:
                raise InputError("'words' is no list of words.")
            given = [checked_text("a word", word) for word in words]
            text, ends = " ".join(given), 0
            units = []
            for word in given:
                units.append((ends, ends + len(word)))
                ends += len(word) + 1
        else:
            text = checked_text("the text", item)
            units = split_words(text) if by_words else []
        if not by_words:
            units = [(n, n + 1) for n in range(len(text))]
        return Sentence(text, tuple(units), (), "the input")

    def _answer(self, items: list[Sentence], options: CallOptions, first: int) -> list[Tagged]:
        named = tuple(dataclasses.replace(s, where=f"input {number}") for number, s in enumerate(items, first))
        kind: Kind = self.task.kind or "entities"
        level: Level = self.task.level or "words"
        data = TaggedData(source="the input", sentences=named, level=level, kind=kind)
        return self._records(data, len(named), options)
