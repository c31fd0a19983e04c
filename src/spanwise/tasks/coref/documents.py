"""Coreference data in memory: documents of words or of plain text, whatever file they came from."""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.tasks.coref.conll import CoreferenceDocument
from spanwise.tasks.coref.gap import GapExample

NO_GENRE = "none"


@dataclass(frozen=True, kw_only=True)
class TextDocument:
    """Plain text; its sentences and words are found when it is cut into pieces."""

    name: str
    text: str
    language: str = "en"


Document = CoreferenceDocument | TextDocument


@dataclass(frozen=True, kw_only=True)
class CoreferenceData:
    """Documents of one source. `gap` are the questions of a GAP file, one per document; others have clusters."""

    source: str
    documents: tuple[Document, ...]
    gap: tuple[GapExample, ...] = ()
    num_repeated_mentions: int = 0  # named twice: kept where they first stood
    num_dropped_mentions: int = 0  # outside their text, and left out on request

    @property
    def has_words(self) -> bool:
        return all(isinstance(document, CoreferenceDocument) for document in self.documents)

    @property
    def num_clusters(self) -> int:
        return sum(len(d.clusters) for d in self.documents if isinstance(d, CoreferenceDocument))

    @property
    def num_singletons(self) -> int:
        """Gold clusters of one mention."""
        return sum(
            len(cluster) == 1
            for document in self.documents
            if isinstance(document, CoreferenceDocument)
            for cluster in document.clusters
        )

    @property
    def has_singletons(self) -> bool:
        """Return whether lone mentions were annotated: a tenth of the clusters. (OntoGUM has a handful by mistake.)"""
        return self.num_singletons > 0 and 10 * self.num_singletons >= self.num_clusters


def genre_of(document: Document) -> str:
    """The kind of text that a name says: OntoNotes' `(nw/wsj/00/...)`, GUM's `GUM_news_...`; else "none"."""
    name = document.name.lstrip("( ")
    if "/" in name:
        return name.partition("/")[0] or NO_GENRE
    parts = name.split("_")
    return parts[1] if parts[0] == "GUM" and len(parts) > 2 else NO_GENRE
