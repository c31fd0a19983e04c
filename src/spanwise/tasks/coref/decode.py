"""From the best antecedent of every span to clusters of words and of characters.

Letters: k spans kept.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from spanwise.nn.coreference.head import Linked
from spanwise.tasks.coref.documents import Document
from spanwise.tasks.coref.gap import GapExample
from spanwise.tasks.coref.pieces import DocumentPieces

Span = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Links:
    """The decisions of the head about one document, on the host: spans of pieces, and each one's best antecedent."""

    start_k: np.ndarray
    end_k: np.ndarray
    mention_k: np.ndarray  # mention scores; above 0 more likely a mention than not, where that was trained
    antecedent_k: np.ndarray  # an earlier span, or -1
    chance_k: np.ndarray  # of that decision
    num_segments: int = 0


@dataclass(frozen=True, slots=True)
class FoundMention:
    """`text[start:end]` of the document, half-open words, and the chance of the decision that put it here."""

    start: int
    end: int
    first_word: int
    last_word: int  # plus one
    chance: float

    @property
    def words(self) -> Span:
        return self.first_word, self.last_word

    @property
    def characters(self) -> Span:
        return self.start, self.end


FoundClusters = tuple[tuple[FoundMention, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Clusters of every document in the order of the data, mentions by position; documents with their text."""

    clusters: tuple[FoundClusters, ...]
    documents: tuple[tuple[Document, str], ...]
    gap: tuple[GapExample, ...] = ()
    num_segments: tuple[int, ...] = ()


@torch.no_grad()
def best_links(linked: Linked, num_segments: int) -> Links:
    """Take the antecedent of highest score where it is above 0, the score of "none"."""
    antecedents = linked.antecedents
    scores_ka = torch.nn.functional.pad(antecedents.scores_kc.float(), (1, 0))
    best_k = scores_ka.argmax(dim=1)
    chance_k = torch.softmax(scores_ka, dim=1).gather(1, best_k[:, None]).squeeze(1)
    index_ka = torch.nn.functional.pad(antecedents.index_kc, (1, 0), value=-1)
    antecedent_k = index_ka.gather(1, best_k[:, None]).squeeze(1)

    def host(values: Tensor) -> np.ndarray:
        return values.cpu().numpy()

    return Links(
        start_k=host(linked.start_k),
        end_k=host(linked.end_k),
        mention_k=host(linked.mention_k.float()),
        antecedent_k=host(antecedent_k),
        chance_k=host(chance_k),
        num_segments=num_segments,
    )


def no_links(num_segments: int = 0) -> Links:
    """Return the links of a document without pieces."""
    none, numbers = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
    return Links(
        start_k=none, end_k=none, mention_k=numbers, antecedent_k=none, chance_k=numbers, num_segments=num_segments
    )


def clusters_of(links: Links, *, singletons: bool) -> list[list[int]]:
    """Spans that go back to one another, in order of position; with `singletons` lone mentions too."""
    cluster_of: dict[int, list[int]] = {}
    clusters = []
    for span, antecedent in enumerate(links.antecedent_k.tolist()):
        if antecedent < 0:
            continue
        cluster = cluster_of.get(antecedent)
        if cluster is None:
            cluster = cluster_of[antecedent] = [antecedent]
            clusters.append(cluster)
        cluster.append(span)
        cluster_of[span] = cluster
    if singletons:
        clusters += [[span] for span in np.flatnonzero(links.mention_k > 0).tolist() if span not in cluster_of]
    return sorted(clusters)


def decode(
    documents: Sequence[DocumentPieces], outputs: Iterable[Links], *, singletons: bool
) -> tuple[FoundClusters, ...]:
    """Clusters of mentions of every document; `outputs` in the order of the documents."""
    found = []
    for document, links in zip(documents, outputs, strict=True):
        clusters = clusters_of(links, singletons=singletons)
        found.append(tuple(tuple(_mention(document, links, span) for span in cluster) for cluster in clusters))
    return tuple(found)


def _mention(document: DocumentPieces, links: Links, span: int) -> FoundMention:
    start, end = int(links.start_k[span]), int(links.end_k[span])
    first, last = document.characters(start, end)
    return FoundMention(
        start=first,
        end=last,
        first_word=int(document.word_T[start]),
        last_word=int(document.word_T[end - 1]) + 1,
        chance=float(links.chance_k[span]),
    )
