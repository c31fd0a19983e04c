"""Taggers by the name of the side array they fill; entities and noun phrases by a spaCy pipeline.

A pipeline may be of any language that has one. spaCy is an extra and loaded late.
"""

import warnings
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np

from spanwise.errors import ConfigError, DataError
from spanwise.runtime.suggest import did_you_mean
from spanwise.text.corpus import CorpusOptions
from spanwise.text.encoding import Encoding
from spanwise.text.morphemes import MorphemeTagger
from spanwise.text.span_file_tagger import SpanFileTagger
from spanwise.text.tags import Tagger, phrase_tags

PhraseKind = Literal["entities", "noun-phrases"]

NUMERICAL = frozenset({"CARDINAL", "DATE", "MONEY", "ORDINAL", "PERCENT", "QUANTITY", "TIME"})
"""Values among OntoNotes' types of entities. SpanBERT masks the others: "non-numerical" (section 5.1)."""
_FINDERS = ("ner", "beam_ner", "entity_ruler", "future_entity_ruler", "span_ruler")  # spaCy's parts that find entities


class SpacyTagger:
    """A `Tagger` that asks spaCy for the named entities or the noun phrases of each sentence."""

    def __init__(self, kind: PhraseKind, pipeline: Any, *, labels: Collection[str] | None = None) -> None:
        """Open a pipeline: an installed package, a folder, or a loaded `spacy.Language`.

        `labels` are the entity types to keep; None keeps all but the numerical ones.
        Raises: ConfigError where spaCy or the pipeline is not installed, or `labels` are given for noun phrases, or
        name a type that the pipeline does not have.
        """
        if kind == "noun-phrases" and labels is not None:
            raise ConfigError("noun phrases have no labels to choose from; leave the labels out.")
        self.name: str = kind
        self._labels = None if labels is None else frozenset(labels)
        self._language = _load(pipeline) if isinstance(pipeline, str) else pipeline
        meta = self._language.meta
        self.source = f"spaCy {meta['lang']}_{meta['name']} {meta['version']}"
        if labels is not None:
            _check_labels(labels, self._language, self.source)

    def tag(self, texts: Sequence[str], encodings: Sequence[Encoding]) -> list[np.ndarray]:
        """The tags of k sentences, see `text/tags.py`. Raises: DataError where the pipeline finds no such phrases."""
        documents = self._language.pipe(texts)
        find = self._entities if self.name == "entities" else self._noun_phrases
        return [
            phrase_tags(text, encoding.offsets, find(document))
            for text, encoding, document in zip(texts, encodings, documents, strict=True)
        ]

    def _entities(self, document: Any) -> list[tuple[int, int]]:
        if len(document) and not document.has_annotation("ENT_IOB"):
            raise DataError(f"{self.source} marks no entities: it has no 'ner' or 'entity_ruler'; take one that has.")
        wanted = self._labels
        return [
            (found.start_char, found.end_char)
            for found in document.ents
            if (found.label_ not in NUMERICAL if wanted is None else found.label_ in wanted)
        ]

    def _noun_phrases(self, document: Any) -> list[tuple[int, int]]:
        try:
            return [(found.start_char, found.end_char) for found in document.noun_chunks]
        except (ValueError, RuntimeError) as cause:
            raise DataError(
                f"{self.source} finds no noun phrases: they need a 'parser' and a language that spaCy has rules for "
                f"({str(cause).splitlines()[0][:120]})."
            ) from cause


def _check_labels(labels: Collection[str], language: Any, source: str) -> None:
    """Raises: ConfigError for a type of entities that none of a pipeline's parts finds."""
    if not all(getattr(part, "__module__", "").startswith("spacy") for _, part in language.pipeline):
        return  # a part that somebody wrote may find types that it does not list
    finders = [name for name, factory in language.pipe_factories.items() if factory in _FINDERS]
    known = sorted({label for name in finders for label in language.pipe_labels.get(name, ())})
    for label in labels:
        if known and label not in known:
            raise ConfigError(
                f"{source} finds no entities of type {label!r}; its types are {', '.join(known)}. Name each type on "
                f"its own, as it is written there.{did_you_mean(label, known)}"
            )


def _load(pipeline: str) -> Any:
    try:
        import spacy
    except ImportError as cause:
        raise ConfigError(
            "tagging by a pipeline needs spaCy: pip install 'spanwise[spacy]'. Spans of your own need none: "
            "--tags FILE."
        ) from cause
    try:
        return spacy.load(pipeline)
    except OSError as cause:
        raise ConfigError(
            f"spaCy has no pipeline '{pipeline}': install it (python -m spacy download {pipeline}), or name a folder."
        ) from cause


PHRASES: tuple[str, ...] = get_args(PhraseKind)
# Those that need nothing but their library.
_TAGGERS: dict[str, Callable[[], Tagger]] = {MorphemeTagger.name: MorphemeTagger}


def find_tagger(
    name: str,
    *,
    pipeline: str | Any = None,
    spans: str | Path | None = None,
    labels: Collection[str] | None = None,
    options: CorpusOptions | None = None,
) -> Tagger:
    """Make the tagger of a name.

    `pipeline` is a spaCy pipeline, by name or loaded; `spans` a file of spans, for any name; other taggers have a
    library of their own. `labels` are the types of entities to keep, of those that the pipeline finds. `options` are
    those of the corpus: paragraphs of the file are split as it is. Warns of a name that looks like a slip.
    Raises: ConfigError where the name is unknown, or the way to tag is missing, not installed or one too many.
    """
    if spans is not None:
        if pipeline is not None or labels is not None:
            raise ConfigError(f"tags of '{name}' come from {spans}: leave the pipeline and its labels out.")
        known = [*PHRASES, *_TAGGERS]
        if name not in known and (meant := did_you_mean(name, known)):
            warnings.warn(
                f"no masking of spanwise reads tags named '{name}', only one of your own.{meant}", stacklevel=2
            )
        return SpanFileTagger(name, spans, options)
    if name in PHRASES:
        if pipeline is None:
            raise ConfigError(
                f"tagging '{name}' needs a spaCy pipeline or a file of spans: spanwise prepare TEXT --tokenizer DIR "
                f"--out STORE --tag {name} --tagger en_core_web_sm (or --tags FILE.jsonl); then train on it with "
                "--data STORE."
            )
        return SpacyTagger(cast(PhraseKind, name), pipeline, labels=labels)
    if name not in _TAGGERS:
        known = [*PHRASES, *_TAGGERS]
        raise ConfigError(
            f"nothing tags '{name}'; there is {', '.join(known)}, and any name with a file of spans "
            f"(--tags FILE.jsonl).{did_you_mean(name, known)}"
        )
    if pipeline is not None or labels is not None:
        raise ConfigError(f"'{name}' is tagged without a pipeline: leave the pipeline and its labels out.")
    return _TAGGERS[name]()
