"""Text in, clusters of mentions out: which spans of a text mean the same thing.

Sentences are split by `sentencex`, words by the model's own tokenizer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from spanwise.pipelines.given import OptionError
from spanwise.pipelines.several import answer_all, checked_text, open_task
from spanwise.runtime.device import Precision
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


class CoreferencePipeline:
    """`coref(text)` -> `{"clusters": [[{"start", "end", "text", "score"}, ...], ...], "resolved", "segments"}`.

    `model` is a folder (or hub id) fine-tuned with `spanwise finetune coref`, `tokenizer` another folder or a
    `Tokenizer`. `language` chooses the rules of sentence splitting. `singletons=True` adds mentions that nothing goes
    back to, which models can tell that were trained on data with such (LitBank); None does what the model was taught.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        device: str | int | None = None,
        precision: Precision = "fp32",
        language: str = "en",
        singletons: bool | None = None,
    ) -> None:
        loaded = open_task("coref", model, tokenizer, device, precision)
        self.model, self.tokenizer, self.task = loaded.model, loaded.tokenizer, cast(Coreference, loaded.task)
        if singletons and not self.task.finds_singletons:
            raise OptionError(
                "this model was not taught to find single mentions, as models fine-tuned on data with such are. "
                "Fine-tune with --set task.singletons=true."
            )
        self.precision, self.language, self.singletons = precision, language, singletons

    def __call__(self, texts: Any) -> Any:
        """Find the clusters of one text (a string, or `{"text": ...}`), of a list of texts, or of a generator of them
        (then the results come as a generator).

        A result is a dictionary. `clusters`: each a list of mentions in order, `text[start:end]` being the mention and
        `score` the chance of the decision that put it there. `resolved`: the text in which every later mention is
        replaced by its cluster's name. `segments`: into how many parts, encoded one by one, the text was cut; nothing
        of it is left out, whatever its length (`num_windows` and `num_dropped_tokens`, as every pipeline calls them).

        Raises: InputError (a DataError and ValueError) for something that is no text.
        """
        return answer_all(texts, _text_of, self._find)

    def _find(self, texts: list[str]) -> list[dict[str, Any]]:
        documents = tuple(TextDocument(name=str(k), text=t, language=self.language) for k, t in enumerate(texts))
        data = CoreferenceData(source="the call", documents=documents)
        features = self.task.featurize(data, self.tokenizer, self.model.encoder.config, training=False)
        outputs = self.model.outputs(features, precision=self.precision)
        found = self.task.decode(data, features, outputs)
        results = []
        for text, clusters, num_segments in zip(texts, found.clusters, found.num_segments, strict=True):
            kept = [cluster for cluster in clusters if self.singletons is not False or len(cluster) > 1]
            mentions = [
                [{"start": m.start, "end": m.end, "text": text[m.start : m.end], "score": m.chance} for m in cluster]
                for cluster in kept
            ]
            result = {"clusters": mentions, "resolved": resolve(text, mentions), "segments": num_segments}
            results.append({**result, "num_windows": num_segments, "num_dropped_tokens": 0})
        return results


def resolve(text: str, clusters: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    """The text in which every mention but a cluster's name is replaced by that name.

    The name is the first mention that is no English pronoun; a cluster of pronouns alone stays as it is, and so do
    relative pronouns. Of mentions inside one another the outer one is replaced. A possessive pronoun becomes the name
    with 's; a name's first letter is large where the mention's is, and small in the middle of a sentence where it
    begins with a word such as "the".
    """
    replacements = []
    for cluster in clusters:
        name = next((mention["text"] for mention in cluster if mention["text"].lower() not in PRONOUNS), "")
        for mention in cluster if name else ():
            said = mention["text"]
            if said.casefold() != name.casefold() and said.lower() not in RELATIVE:
                ending = "'s" if said.lower() in POSSESSIVE else ""
                replacements.append((mention["start"], -mention["end"], _as_said(name, said) + ending))
    parts, place = [], 0
    for start, minus_end, words in sorted(replacements):
        if start >= place:
            parts += [text[place:start], words]
            place = -minus_end
    return "".join(parts) + text[place:]


def _as_said(name: str, said: str) -> str:
    """The name with the first letter as in the mention that it takes the place of."""
    if said[:1].isupper() and said != "I":
        return name[:1].upper() + name[1:]
    return name[:1].lower() + name[1:] if name.split()[0].lower() in DETERMINERS else name


def _text_of(item: Any) -> str:
    """An empty text is one without mentions."""
    text = item.get("text") if isinstance(item, Mapping) else item
    if isinstance(text, str) and not text.strip():
        return text
    return checked_text("text", text)
