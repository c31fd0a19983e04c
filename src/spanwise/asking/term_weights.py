"""BM25 weights of the terms of passages, by the library bm25s.

Source: Robertson and Zaragoza 2009 (BM25), in the form of Lucene; Lu 2024 (BM25S). k1 = 0.9 and b = 0.4, the values
of Anserini, found a few more of the bundled questions' passages than 1.2 and 0.75 did.
"""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import bm25s

from spanwise.asking.words import Terms

K1, B = 0.9, 0.4
logging.getLogger("bm25s").setLevel(logging.WARNING)  # the library logs its every step


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that shares terms with a question, and its BM25 score."""

    number: int
    score: float


class Vocabulary(dict[str, int]):
    """The number of each term, in the order in which they are met."""

    def __init__(self) -> None:
        super().__init__()
        self._terms = Terms()

    def encode(self, text: str) -> list[int]:
        """Return the numbers of the terms of a text, new ones added."""
        return [self.setdefault(term, len(self)) for term in self._terms.of(text)]


class TermWeights:
    """Finds the passages that share the rarest terms with a question."""

    def __init__(self, weights: bm25s.BM25) -> None:
        self._weights = weights
        self._terms = Terms()

    @classmethod
    def count(cls, passages: list[list[int]], vocabulary: Vocabulary) -> "TermWeights":
        """Weigh the encoded terms of passages, of which one at least has a term."""
        weights = bm25s.BM25(k1=K1, b=B, method="lucene")
        weights.index((passages, dict(vocabulary)), show_progress=False)
        return cls(weights)

    @classmethod
    def load(cls, folder: Path) -> "TermWeights":
        """Open saved weights; they stay on the disk, mapped into memory."""
        return cls(bm25s.BM25.load(folder, mmap=True))

    def save(self, folder: Path) -> None:
        """Write the weights into a new folder."""
        self._weights.save(folder, show_progress=False)

    def __len__(self) -> int:
        """The number of passages."""
        return int(self._weights.scores["num_docs"])

    def search(self, question: str, top: int) -> list[Hit]:
        """Return at most `top` passages that share a term with the question, the nearest first."""
        terms = list(dict.fromkeys(self._terms.of(question)))
        if not terms:
            return []
        numbers, scores = self._weights.retrieve([terms], k=min(top, len(self)), show_progress=False)
        return [Hit(int(n), float(score)) for n, score in zip(numbers[0], scores[0], strict=True) if score > 0]

    def information(self, question: str) -> float:
        """Return the score that no passage can pass: the sum of the rarities of the question's terms, those that stand
        nowhere counted as the rarest."""
        ends, known = self._weights.scores["indptr"], self._weights.vocab_dict
        total = 0.0
        for term in set(self._terms.of(question)):
            frequency = int(ends[known[term] + 1] - ends[known[term]]) if term in known else 0
            total += math.log(1 + (len(self) - frequency + 0.5) / (frequency + 0.5))
        return max(total, 1e-9)


def nearest_passages(question: str, passages: Sequence[str], top: int = 3) -> list[int]:
    """Return the indices of at most `top` passages, those that share the rarest terms with the question first; no index
    is kept."""
    vocabulary = Vocabulary()
    encoded = [vocabulary.encode(passage) for passage in passages]
    if not vocabulary:
        return []
    return [hit.number for hit in TermWeights.count(encoded, vocabulary).search(question, top)]
