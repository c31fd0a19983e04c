"""Text in, clusters of mentions out: which spans of a text mean the same thing.

Sentences are split by `sentencex`, words by the model's own tokenizer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from spanwise.pipelines.base import CallOptions, Reading, Span, TaskPipeline
from spanwise.pipelines.given import OptionError, checked_text
from spanwise.tasks.coref.decode import Predictions
from spanwise.tasks.coref.documents import CoreferenceData, TextDocument
from spanwise.tasks.coref.task import Coreference

# fmt: off
PRONOUNS = frozenset({
    "i", "me", "my", "mine", "myself", "you", "your", "yours", "yourself", "yourselves", "he", "him", "his",
    "himself", "she", "her", "hers", "herself", "it", "its", "itself", "we", "us", "our", "ours", "ourselves",
    "they", "them", "their", "theirs", "themselves", "this", "that", "these", "those", "who", "whom", "whose",
    "which",
})
RELATIVE = frozenset({"who", "whom", "whose", "which", "that"})  # "the man, the man left" is no English
DETERMINERS = frozenset({
    "a", "an", "the", "this", "that", "these", "those", "my", "your", "his", "her", "its", "our", "their", "some",
    "any", "many", "most", "all", "both", "each", "every", "another", "one", "two", "three",
})
# fmt: on
POSSESSIVE = frozenset({"my", "your", "his", "its", "our", "their"})  # "her" is not told from the object


class MentionSpan(Span):
    """A mention, and the probability of the decision that put it into its cluster."""

    score: float


class Coreferences(Reading):
    """The clusters of a text, each with its mentions in order, and the text with names in the place of later
    mentions. `segments`: into how many parts, encoded one by one, the text was cut."""

    clusters: list[list[MentionSpan]]
    resolved: str
    segments: int


@dataclass(frozen=True, kw_only=True)
class CoreferenceOptions(CallOptions):
    """The options of a call. `language` chooses the rules of sentence splitting. `singletons=True` adds mentions that
    nothing goes back to, which models can tell that were trained on data with such (LitBank); None does what the model
    was taught."""

    language: str = "en"
    singletons: bool | None = None


class CoreferencePipeline(TaskPipeline[str, Coreferences, CoreferenceOptions]):
    """`coref(text)` -> `{"clusters": [[{"start", "end", "text", "score"}, ...], ...], "resolved", "segments",
    "num_windows", "num_dropped_tokens"}`.

    An input is a text or `{"text": ...}`; nothing of it is left out, whatever its length.
    """

    name, task_name = "coreference", "coref"
    options_type = CoreferenceOptions
    overflow_choices = ("windows",)
    task: Coreference

    def _check(self, options: CoreferenceOptions) -> None:
        if options.singletons and not self.task.finds_singletons:
            raise OptionError(
                "this model was not taught to find single mentions, as models fine-tuned on data with such are. "
                "Fine-tune with --set task.singletons=true."
            )

    def _parse(self, item: object, options: CoreferenceOptions) -> str:
        return checked_text("the text", item.get("text") if isinstance(item, Mapping) else item)

    def _answer(self, items: list[str], options: CoreferenceOptions, first: int) -> list[Coreferences]:
        documents = tuple(TextDocument(name=str(k), text=t, language=options.language) for k, t in enumerate(items))
        data = CoreferenceData(source="the call", documents=documents)
        found = cast(Predictions, self._predictions(data, options))
        answers: list[Coreferences] = []
        for text, clusters, num_segments in zip(items, found.clusters, found.num_segments, strict=True):
            mentions = [
                [MentionSpan(start=m.start, end=m.end, text=text[m.start : m.end], score=m.chance) for m in cluster]
                for cluster in clusters
                if options.singletons is not False or len(cluster) > 1
            ]
            read = Reading(num_windows=num_segments, num_dropped_tokens=0)
            answers.append(
                {"clusters": mentions, "resolved": resolve(text, mentions), "segments": num_segments, **read}
            )
        return answers


def resolve(text: str, clusters: Sequence[Sequence[Span]]) -> str:
    """Return the text in which every mention but a cluster's name is replaced by that name.

    The name is the first mention that is no English pronoun; a cluster of pronouns alone stays as it is, and so do
    relative pronouns and a mention that the name is part of. Of mentions inside one another the outer one is replaced.
    A possessive pronoun becomes the name with 's; a name's first letter is large where the mention's is, and small in
    the middle of a sentence where it begins with a word such as "the".
    """
    replacements = []
    for cluster in clusters:
        named = next((mention for mention in cluster if mention["text"].lower() not in PRONOUNS), None)
        if named is None:
            continue
        for mention in cluster:
            name, said = named["text"], mention["text"]
            holds_name = mention["start"] <= named["start"] and named["end"] <= mention["end"]
            if not holds_name and said.casefold() != name.casefold() and said.lower() not in RELATIVE:
                ending = "'s" if said.lower() in POSSESSIVE else ""
                replacements.append((mention["start"], -mention["end"], _as_said(name, said) + ending))
    parts, place = [], 0
    for start, minus_end, words in sorted(replacements):
        if start >= place:
            parts += [text[place:start], words]
            place = -minus_end
    return "".join(parts) + text[place:]


def _as_said(name: str, said: str) -> str:
    """Return the name with the first letter as in the mention that it takes the place of."""
    if said[:1].isupper() and said != "I":
        return name[:1].upper() + name[1:]
    return name[:1].lower() + name[1:] if name.split()[0].lower() in DETERMINERS else name
