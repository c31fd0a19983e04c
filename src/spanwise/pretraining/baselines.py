"""Guess hidden tokens by counting alone: the unigram and the bigram baseline.

Unigram: every hidden token is guessed from how often each token stands in the training text (add-one smoothed).

Bigram: a hidden token is guessed from its two neighbours, each used only where it is visible (a real token of the
same sequence that is not hidden; [CLS] and [SEP] say nothing). The chance of a token after its left neighbour, and
before its right one, are Witten-Bell interpolations of the pair counts of the training text with the unigram; where
both neighbours are visible they are combined as a bigram chain does, P(t | l, r) ~ P(t | l) P(t | r) / P(t). Inside a
span, where both neighbours are hidden, the bigram guess is the unigram guess. A model above this line uses more than
the next token.

Source: Witten and Bell 1991 (method C). Letters: N hidden tokens, V vocabulary, P distinct pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spanwise.data.token_store import TokenStore
from spanwise.errors import DataError
from spanwise.pretraining.hidden_tokens import HIDDEN

CHUNK_ROWS = 256  # dense rows of V at a time


@dataclass(frozen=True, kw_only=True)
class Guesses:
    """Loss in nats and hit (most probable token equals the truth) for each of N hidden tokens."""

    losses: np.ndarray  # [N] float64
    correct: np.ndarray  # [N] bool


@dataclass(frozen=True, kw_only=True)
class PairCounts:
    """Rows of one direction: for each token, the tokens that stood next to it and how often."""

    borders: np.ndarray  # [V+1] int64 into the two below
    neighbour: np.ndarray  # [P] int64
    count: np.ndarray  # [P] int64


class NeighbourBaseline:
    """Unigram and bigram guesses from token ids that lie in reading order.

    `document [n]` says to which document each of the n ids belongs: pairs never cross documents.
    Raises DataError for an empty text.
    """

    def __init__(self, ids: np.ndarray, document: np.ndarray, vocab_size: int) -> None:
        if len(ids) == 0:
            raise DataError("the training text has no tokens to count; give a text that is not empty.")
        ids = np.asarray(ids, dtype=np.int64)
        self.vocab_size = vocab_size
        self.num_tokens = len(ids)
        counts = np.bincount(ids, minlength=vocab_size).astype(np.float64) + 1.0
        self.unigram = counts / counts.sum()
        same = np.asarray(document[1:]) == np.asarray(document[:-1])
        left, right = ids[:-1][same], ids[1:][same]
        self.after = count_pairs(left, right, vocab_size)
        self.before = count_pairs(right, left, vocab_size)

    @classmethod
    def from_store(cls, store: TokenStore, *, max_tokens: int = 8_000_000) -> NeighbourBaseline:
        """Count the first `max_tokens` tokens of a store (8 M keep it below a second or two)."""
        num_sentences = int(np.searchsorted(store.sentence_offsets, max_tokens, side="right")) - 1
        num_sentences = min(max(num_sentences, 1), store.num_sentences)
        starts = np.asarray(store.sentence_offsets[:num_sentences], dtype=np.int64)
        lengths = np.asarray(store.sentence_lengths[:num_sentences], dtype=np.int64)
        ids = store.gather(starts, lengths)
        document = np.searchsorted(store.document_borders, np.arange(num_sentences), side="right")
        return cls(ids, np.repeat(document, lengths), store.vocabulary.size)

    def unigram_guesses(self, original_ids: np.ndarray) -> Guesses:
        """Guess N hidden tokens without looking at anything."""
        return Guesses(losses=-np.log(self.unigram[original_ids]), correct=original_ids == int(self.unigram.argmax()))

    def bigram_guesses(self, original_ids: np.ndarray, left: np.ndarray, right: np.ndarray) -> Guesses:
        """Guess N hidden tokens from left [N] and right [N] neighbour ids, `HIDDEN` where not visible."""
        losses = np.empty(len(original_ids), dtype=np.float64)
        correct = np.empty(len(original_ids), dtype=bool)
        for first in range(0, len(original_ids), CHUNK_ROWS):
            rows = slice(first, first + CHUNK_ROWS)
            after, before = self._conditional(self.after, left[rows]), self._conditional(self.before, right[rows])
            chance = after * before / self.unigram
            chance /= chance.sum(1, keepdims=True)
            target = original_ids[rows]
            losses[rows] = -np.log(chance[np.arange(len(target)), target])
            correct[rows] = chance.argmax(1) == target
        return Guesses(losses=losses, correct=correct)

    def _conditional(self, table: PairCounts, given: np.ndarray) -> np.ndarray:
        """Witten-Bell rows [n, V] of P(token | neighbour); the unigram where the neighbour is not visible or unseen."""
        rows = np.repeat(self.unigram[None], len(given), axis=0)
        for index, token in enumerate(given):
            if token == HIDDEN:
                continue
            part = slice(table.borders[token], table.borders[token + 1])
            total, distinct = int(table.count[part].sum()), part.stop - part.start
            if total:
                rows[index] *= distinct / (total + distinct)
                rows[index, table.neighbour[part]] += table.count[part] / (total + distinct)
        return rows


def count_pairs(given: np.ndarray, neighbour: np.ndarray, vocab_size: int) -> PairCounts:
    """Count each (given, neighbour) pair of two aligned id arrays."""
    codes, counts = np.unique(given * vocab_size + neighbour, return_counts=True)
    borders = np.searchsorted(codes, np.arange(vocab_size + 1, dtype=np.int64) * vocab_size)
    return PairCounts(borders=borders, neighbour=codes % vocab_size, count=counts)
