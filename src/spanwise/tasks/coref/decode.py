"""From the best antecedent of every span to clusters of words and of characters.

Letters: k spans kept.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

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
    """What the head says of one document, on the host: spans of pieces, and each one's best antecedent."""

    start_k: np.ndarray
    end_k: np.ndarray
    mention_k: np.ndarray  # mention scores; above 0 more likely a mention than not, where that was trained
    antecedent_k: np.ndarray  # the earlier span of the highest score, -1 where there is none
    score_k: np.ndarray  # that score; minus infinity where there is none
    total_k: np.ndarray  # the logarithm of the sum of the exponentials of all antecedents' scores
    num_segments: int = 0

    def decided(self, threshold: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the antecedents whose scores are above `threshold`, the score of "none", else -1, and the chance of
        each decision."""
        score_k, total_k = self.score_k.astype(np.float64), self.total_k.astype(np.float64)
        linked_k = score_k > threshold
        chance_k = np.exp(np.where(linked_k, score_k, threshold) - np.logaddexp(total_k, threshold))
        return np.where(linked_k, self.antecedent_k, -1), chance_k


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
    """Clusters of every document in the order of the data, mentions by position; documents with their text.

    They hold what the head said too, so that another threshold needs no second reading; equal ones have equal clusters.
    """

    clusters: tuple[FoundClusters, ...]
    documents: tuple[tuple[Document, str], ...]
    links: tuple[Links, ...] = field(compare=False)
    pieces: tuple[DocumentPieces, ...] = field(compare=False)
    threshold: float  # that the clusters were decided at
    singletons: bool
    gap: tuple[GapExample, ...] = ()

    @property
    def num_segments(self) -> tuple[int, ...]:
        return tuple(links.num_segments for links in self.links)

    def at(self, threshold: float) -> "Predictions":
        """Return what is predicted where antecedents must score more than `threshold`."""
        if threshold == self.threshold:
            return self
        clusters = decode(self.pieces, self.links, threshold=threshold, singletons=self.singletons)
        return replace(self, clusters=clusters, threshold=threshold)


@torch.no_grad()
def best_links(linked: Linked, num_segments: int) -> Links:
    """Take the antecedent of highest score of each span, whatever that score."""
    antecedents = linked.antecedents
    scores_ka = torch.nn.functional.pad(antecedents.scores_kc.float(), (1, 0), value=-torch.inf)
    index_ka = torch.nn.functional.pad(antecedents.index_kc, (1, 0), value=-1)
    score_k, best_k = scores_ka.max(dim=1)

    def host(values: Tensor) -> np.ndarray:
        return values.cpu().numpy()

    return Links(
        start_k=host(linked.start_k),
        end_k=host(linked.end_k),
        mention_k=host(linked.mention_k.float()),
        antecedent_k=host(index_ka.gather(1, best_k[:, None]).squeeze(1)),
        score_k=host(score_k),
        total_k=host(torch.logsumexp(scores_ka, dim=1)),
        num_segments=num_segments,
    )


def no_links(num_segments: int = 0) -> Links:
    """Return the links of a document without pieces."""
    none, numbers = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
    return Links(
        start_k=none,
        end_k=none,
        mention_k=numbers,
        antecedent_k=none,
        score_k=numbers,
        total_k=numbers,
        num_segments=num_segments,
    )


def clusters_of(mention_k: np.ndarray, antecedent_k: np.ndarray, *, singletons: bool) -> list[list[int]]:
    """Spans that go back to one another, in order of position; with `singletons` lone mentions too."""
    cluster_of: dict[int, list[int]] = {}
    clusters = []
    for span, antecedent in enumerate(antecedent_k.tolist()):
        if antecedent < 0:
            continue
        cluster = cluster_of.get(antecedent)
        if cluster is None:
            cluster = cluster_of[antecedent] = [antecedent]
            clusters.append(cluster)
        cluster.append(span)
        cluster_of[span] = cluster
    if singletons:
        clusters += [[span] for span in np.flatnonzero(mention_k > 0).tolist() if span not in cluster_of]
    return sorted(clusters)


def decode(
    documents: Sequence[DocumentPieces], outputs: Iterable[Links], *, threshold: float, singletons: bool
) -> tuple[FoundClusters, ...]:
    """Clusters of mentions of every document; `outputs` in the order of the documents."""
    found = []
    for document, links in zip(documents, outputs, strict=True):
        antecedent_k, chance_k = links.decided(threshold)
        clusters = clusters_of(links.mention_k, antecedent_k, singletons=singletons)
        found.append(
            tuple(tuple(_mention(document, links, span, chance_k) for span in cluster) for cluster in clusters)
        )
    return tuple(found)


def _mention(document: DocumentPieces, links: Links, span: int, chance_k: np.ndarray) -> FoundMention:
    start, end = int(links.start_k[span]), int(links.end_k[span])
    first, last = document.characters(start, end)
    return FoundMention(
        start=first,
        end=last,
        first_word=int(document.word_T[start]),
        last_word=int(document.word_T[end - 1]) + 1,
        chance=float(chance_k[span]),
    )
