"""BERT's pairs: a segment and the one that follows it, or one of another document.

Source: Devlin et al. 2019 (BERT), section 3.1 and appendix A.2; Google's released code. Liu et al. 2019 (RoBERTa),
section 4.2 and Table 2 (SEGMENT-PAIR).
Letters: n blocks, u units, d documents.
"""

from typing import ClassVar, Literal

import numpy as np

from spanwise.config import part
from spanwise.config.ranges import Share
from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError, DataError
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.formats.pairs import TwoSegments
from spanwise.pretraining.formats.sentences import require_sentences, shorter_target, units_of
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below, child_key, mix, uniform


@part("sentence_pair")
class SentencePair(TwoSegments):
    """Walk over each document: take sentences until the length is reached, let A be some of the first, B the rest, or
    with chance `random_share` text of another document. Label 0: B is next; 1: B is random.

    Where B is random, the sentences it replaced are put back and begin the next block; its own begin at any sentence of
    any other document, all documents alike. What is too long is cut token by token from the longer segment, at its
    front or its end by a coin: `num_tokens_dropped` counts the text that was cut from A and from a following B,
    `num_tokens_repeated` that of random Bs.

    `sentences="many"`: A and B are segments of many sentences (BERT; RoBERTa's SEGMENT-PAIR). "one": A and B are one
    sentence each (RoBERTa's SENTENCE-PAIR), and sequences are much shorter than `max_length`.

    `lone_sentences`: a block that has a single sentence (a document's last) has no next, so its B is always random.
    "balanced": so many other blocks keep their next that `random_share` holds over all; "extra": these come on top, as
    in the released code, where more than half of all labels are 1.

    `short_sequence_share`: so many documents aim at a length drawn from 2 to the longest (BERT: 0.1).
    """

    gives: ClassVar[frozenset[str]] = frozenset({"pair_label", "random_next"})
    label_names: ClassVar[tuple[str, str]] = ("next", "random")

    random_share: Share = 0.5
    sentences: Literal["many", "one"] = "many"
    lone_sentences: Literal["balanced", "extra"] = "balanced"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sentences == "one" and self.short_sequence_share:
            raise ConfigError(
                f"format.short_sequence_share {self.short_sequence_share} changes nothing where format.sentences is "
                "'one': single sentences aim at no length. Set it to 0."
            )

    def blocks(self, store: TokenStore, seed: int, epoch: int) -> BlockTable:
        """Return the blocks of one epoch. Raises: DataError where there are no sentences, or no second document."""
        require_sentences(store, type(self).__name__)
        units = units_of(store, self.room - 1)  # one token at least is the partner's
        if len(units.document_ends) < 2:
            raise DataError(
                f"format {type(self).__name__} takes random partners from other documents, and {store.path} has one "
                "document. Separate documents by blank lines, or take OrderedPair or SingleSegment."
            )
        columns, num_dropped, num_repeated = _pairs(
            units.lengths,
            units.starts,
            units.document_ends,
            self.room,
            self.sentences == "one",
            self.short_sequence_share,
            self.random_share,
            self.lone_sentences == "balanced",
            *self.keys(seed, epoch, "sentence pairs"),
        )
        return self.table(columns, int(num_dropped), int(num_repeated))


@njit
def _until(lengths_u, first, last, target, max_units):
    """Return (end, tokens) of the units from `first` on until `target` tokens are reached; one unit at least."""
    end, size = first + 1, lengths_u[first]
    while end < last and size < target and end - first < max_units:
        size += lengths_u[end]
        end += 1
    return end, size


@njit
def _trims(first_size, second_size, room, key):
    """Return how many tokens go from the front and the end of A, and of B, so that both fit."""
    trims = np.zeros(4, dtype=np.int64)
    counter = np.uint64(0)
    while first_size + second_size > room:
        bits = mix(key, counter)
        counter += np.uint64(1)
        left = 64
        while left and first_size + second_size > room:
            at_end = np.int64(bits & np.uint64(1))
            bits >>= np.uint64(1)
            left -= 1
            if first_size > second_size:
                trims[at_end] += 1
                first_size -= 1
            else:
                trims[2 + at_end] += 1
                second_size -= 1
    return trims


@njit
def _pairs(
    lengths_u, starts_u, document_ends, room, one_sentence, short_share, random_share, balanced, key, short_key
):  # fmt: skip
    columns = np.zeros((5, len(lengths_u)), dtype=np.int64)
    starts, lengths, second_starts, second_lengths, labels = columns
    num_documents, max_units = len(document_ends), 2 if one_sentence else len(lengths_u)
    num_dropped, num_repeated, owed = np.int64(0), np.int64(0), 0.0
    n, u = 0, 0
    for d in range(num_documents):
        last = document_ends[d]
        target = np.int64(1) << 62  # two single sentences aim at no length
        if not one_sentence:
            target = shorter_target(room, short_share, short_key, d)
        while u < last:
            block_key = child_key(key, n)
            end, size = _until(lengths_u, u, last, target, max_units)
            cut = u + 1
            is_random = uniform(block_key, 1) < random_share
            if end - u == 1:
                is_random = True
                owed += 1.0 - random_share
            else:
                cut += below(block_key, 0, end - u - 1)
                if balanced and is_random and owed >= 1.0:
                    is_random = False
                    owed -= 1.0
            first_size = np.int64(0)
            for v in range(u, cut):
                first_size += lengths_u[v]
            second, second_size = starts_u[cut - 1] + lengths_u[cut - 1], size - first_size
            if is_random:
                other = below(block_key, 2, num_documents - 1)
                other += other >= d
                begin = document_ends[other - 1] if other else np.int64(0)
                begin += below(block_key, 3, document_ends[other] - begin)
                limit = 1 if one_sentence else len(lengths_u)
                _, second_size = _until(lengths_u, begin, document_ends[other], target - first_size, limit)
                second = starts_u[begin]
                end = cut
            trims = _trims(first_size, second_size, room, child_key(block_key, 0))
            starts[n], lengths[n] = starts_u[u] + trims[0], first_size - trims[0] - trims[1]
            second_starts[n], second_lengths[n] = second + trims[2], second_size - trims[2] - trims[3]
            labels[n] = is_random
            num_dropped += trims[0] + trims[1]
            if is_random:
                num_repeated += second_lengths[n]
            else:
                num_dropped += trims[2] + trims[3]
            u = end
            n += 1
    return columns[:, :n].copy(), num_dropped, num_repeated


@part("segment_pair")
class SegmentPair(SentencePair):
    """`SentencePair` with two separators between the segments and one token type.

    With `sentences="one"` it is the paper's SENTENCE-PAIR + NSP.
    """

    num_separators: Literal[1, 2] = 2
    num_token_types: Literal[1, 2] = 1
