"""ALBERT's pairs: two consecutive segments of one document, in their order or swapped.

Source: Lan et al. 2020 (ALBERT), section 3.1, and its released code.
Letters: n blocks, u units, d documents.
"""

from typing import ClassVar

import numpy as np

from spanwise.config import part
from spanwise.config.ranges import Share
from spanwise.data.token_store import TokenStore
from spanwise.pretraining.formats.base import NO_LABEL, BlockTable
from spanwise.pretraining.formats.pairs import TwoSegments
from spanwise.pretraining.formats.sentences import Units, require_sentences, run_of_units, shorter_target, units_of
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import below, child_key, uniform

CRUMB_TOKENS = 4  # the rest of a cut sentence that is shorter tells nothing of the order


@part("ordered_pair")
class OrderedPair(TwoSegments):
    """Append whole sentences of a document while there is room, cut the run in two at a sentence drawn at random, and
    swap the halves with chance `swapped_share`. Label 0: the order of the text; 1: swapped.

    Every token of the store is in exactly one block, and no text of another document is ever in it. A run of a single
    sentence (a document's last, or one that leaves no room for another) has no order: it becomes [CLS] A [SEP] without
    label, and only the other objectives learn from it. A sentence longer than a block is cut, before a word where that
    is possible; where fewer than `CRUMB_TOKENS` are left of it, often a full stop, they are no segment alone either.
    `short_sequence_share`: so many documents aim at a length drawn from 2 to the longest (ALBERT: 0.1).

    Differs: the released code gives a single sentence a random document as partner and labels it "swapped", and cuts
    runs that grew too long from both ends: what is cut off is in no block, so it has no such rests.
    """

    gives: ClassVar[frozenset[str]] = frozenset({"pair_label", "swapped_order"})
    label_names: ClassVar[tuple[str, str]] = ("in order", "swapped")

    swapped_share: Share = 0.5

    def blocks(self, store: TokenStore, seed: int, epoch: int) -> BlockTable:
        """Return the blocks of one epoch. Raises: DataError where documents have no sentences."""
        require_sentences(store, type(self).__name__)
        units = units_of(store, self.room)
        return self.table(
            _pairs(
                units.lengths,
                _crumbs(units, store),
                units.document_ends,
                self.room,
                self.short_sequence_share,
                self.swapped_share,
                *self.keys(seed, epoch, "ordered pairs"),
            )
        )


def _crumbs(units: Units, store: TokenStore) -> np.ndarray:
    """Return which units are the short rest of a cut sentence, bool [u]. Such a unit opens its block."""
    is_crumb_u = units.lengths < CRUMB_TOKENS
    starts = units.starts[is_crumb_u]
    is_crumb_u[is_crumb_u] = store.sentence_offsets[np.searchsorted(store.sentence_offsets, starts)] != starts
    return is_crumb_u


@njit
def _pairs(lengths_u, is_crumb_u, document_ends, room, short_share, swapped_share, key, short_key):
    columns = np.zeros((5, len(lengths_u)), dtype=np.int64)
    starts, lengths, second_starts, second_lengths, labels = columns
    n, u, place = 0, 0, np.int64(0)
    for d in range(len(document_ends)):
        last = document_ends[d]
        target = shorter_target(room, short_share, short_key, d)
        while u < last:
            end, size = run_of_units(lengths_u, u, last, target)
            block_key = child_key(key, n)
            cut = u + 1 + below(block_key, 0, end - u - 1) if end - u > 1 else end
            if cut == end or (cut == u + 1 and is_crumb_u[u]):
                starts[n], lengths[n], labels[n] = place, size, NO_LABEL
            else:
                first_size = np.int64(0)
                for v in range(u, cut):
                    first_size += lengths_u[v]
                if uniform(block_key, 1) < swapped_share:
                    starts[n], lengths[n], labels[n] = place + first_size, size - first_size, 1
                    second_starts[n], second_lengths[n] = place, first_size
                else:
                    starts[n], lengths[n] = place, first_size
                    second_starts[n], second_lengths[n] = place + first_size, size - first_size
            place += size
            u = end
            n += 1
    return columns[:, :n].copy()
