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

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from spanwise.data.token_store import TokenStore
from spanwise.errors import DataError
from spanwise.pretraining.masking.merge import gaps
from spanwise.pretraining.packs import Hidden, Pack, Spans

HIDDEN = -1  # a neighbour that is hidden, special or missing
DEEPEST = 5  # distances of 5 and more are one group


@dataclass(frozen=True, kw_only=True)
class HiddenTokens:
    """Facts about N hidden tokens of any number of packs, in the order in which the packs were given."""

    original_ids: np.ndarray  # [N] int64
    sequence: np.ndarray  # [N] int64, counted through all packs: the cluster of every standard error
    distance: np.ndarray  # [N] int64: 1 at the first and the last token of a span, then 2, 3, ...
    position: np.ndarray  # [N] int64: 0 at the first token of its span
    left: np.ndarray  # [N] int64: the original left neighbour where it is visible, else HIDDEN
    right: np.ndarray  # [N] int64

    @property
    def depth(self) -> np.ndarray:
        """[N] distance from the nearest visible token, 5 and more as one."""
        return np.minimum(self.distance, DEEPEST)


def describe_hidden(masked: Iterable[tuple[Pack, Spans, Hidden]]) -> HiddenTokens:
    """Read the facts off packs and spans; one pass, no tokens are drawn.

    A neighbour is visible if it is a maskable token of the same sequence that is not hidden: replacement by random
    tokens and unchanged tokens count as hidden, because a reader can't know which of them are true.
    """
    columns: dict[str, list[np.ndarray]] = {name: [] for name in HiddenTokens.__dataclass_fields__}
    num_sequences = 0
    for pack, spans, hidden in masked:
        start_N, end_N = (edge_M[hidden.span] for edge_M in gaps(spans))
        columns["original_ids"].append(hidden.original_ids)
        columns["sequence"].append(num_sequences + spans.sequence[hidden.span])
        columns["position"].append(hidden.position - start_N)
        columns["distance"].append(np.minimum(hidden.position - start_N + 1, end_N - hidden.position))
        visible_T = pack.maskable.copy()
        visible_T[hidden.position] = False
        # A special stands at both ends of every sequence, so position - 1 and + 1 exist and never cross a border;
        # clipping covers formats that have none.
        for name, neighbour_N in (("left", hidden.position - 1), ("right", hidden.position + 1)):
            sequence_N = spans.sequence[hidden.span]
            inside_N = (neighbour_N >= pack.borders[sequence_N]) & (neighbour_N < pack.borders[sequence_N + 1])
            safe_N = np.clip(neighbour_N, 0, len(visible_T) - 1)
            columns[name].append(np.where(inside_N & visible_T[safe_N], pack.input_ids[safe_N], HIDDEN))
        num_sequences += len(pack.borders) - 1
    joined = {
        name: np.concatenate(parts).astype(np.int64) if parts else np.empty(0, np.int64)
        for name, parts in columns.items()
    }
    return HiddenTokens(**joined)


CHUNK_ROWS = 256  # dense rows of V at a time
MOST_COUNTED = 8_000_000  # tokens of a store, in a second or two


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
    def from_store(cls, store: TokenStore) -> NeighbourBaseline:
        """Count the first `MOST_COUNTED` tokens of a store."""
        num_sentences = int(np.searchsorted(store.sentence_offsets, MOST_COUNTED, side="right")) - 1
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
