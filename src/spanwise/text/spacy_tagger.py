"""Entities and noun phrases by a spaCy pipeline, of any language that has one. spaCy is an extra and loaded late."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

import numpy as np

from spanwise.errors import ConfigError, DataError
from spanwise.text.encoding import Encoding
from spanwise.text.tags import phrase_tags

PhraseKind = Literal["entities", "noun-phrases"]

NUMERICAL = frozenset({"CARDINAL", "DATE", "MONEY", "ORDINAL", "PERCENT", "QUANTITY", "TIME"})
"""Values among OntoNotes' types of entities. SpanBERT masks the others: "non-numerical" (section 5.1)."""


class SpacyTagger:
    """A `Tagger` that asks spaCy for the named entities or the noun phrases of each sentence."""

    def __init__(self, kind: PhraseKind, pipeline: Any, *, labels: Collection[str] | None = None) -> None:
        """Open a pipeline: an installed package, a folder, or a loaded `spacy.Language`.

        `labels` are the entity types to keep; None keeps all but the numerical ones.
        Raises: ConfigError where spaCy or the pipeline is not installed, or `labels` are given for noun phrases.
        """
        if kind == "noun-phrases" and labels is not None:
            raise ConfigError("noun phrases have no labels to choose from; leave the labels out.")
        self.name: str = kind
        self._labels = None if labels is None else frozenset(labels)
        self._language = _load(pipeline) if isinstance(pipeline, str) else pipeline
        meta = self._language.meta
        self.source = f"spaCy {meta['lang']}_{meta['name']} {meta['version']}"

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
        return [(found.start_char, found.end_char) for found in document.ents if self._keeps(found.label_)]

    def _keeps(self, label: str) -> bool:
        return label not in NUMERICAL if self._labels is None else label in self._labels

    def _noun_phrases(self, document: Any) -> list[tuple[int, int]]:
        try:
            return [(found.start_char, found.end_char) for found in document.noun_chunks]
        except (ValueError, RuntimeError) as cause:
            raise DataError(
                f"{self.source} finds no noun phrases: they need a 'parser' and a language that spaCy has rules for "
                f"({str(cause).splitlines()[0][:120]})."
            ) from cause


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
