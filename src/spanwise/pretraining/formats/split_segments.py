"""ELECTRA's input: a run of one document in two segments, without a question about them.

Source: Clark et al. 2020 (ELECTRA), released code.
Letters: n blocks, u units, d documents.
"""

from typing import ClassVar

import numpy as np

from spanwise.config import part
from spanwise.config.ranges import Share
from spanwise.data.token_store import TokenStore
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.formats.pairs import TwoSegments
from spanwise.pretraining.formats.sentences import require_sentences, run_of_units, shorter_target, starts_of, units_of
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import child_key, uniform


@part("split_segments")
class SplitSegments(TwoSegments):
    """Append whole sentences of a document while there is room, and split the run about half-way: [CLS] A [SEP] B
    [SEP].

    A takes whole sentences while it is shorter than half the length aimed at; the sentence that passes the half goes to
    A or to B with equal chance. With chance `single_segment_share`, and where A is the whole run, there is one segment,
    [CLS] A [SEP]. Every token of the store is in exactly one block; a sentence longer than a block is cut, before a
    word where that is possible. `short_sequence_share`: so many blocks aim at a length drawn from 2 to the longest
    (ELECTRA: 0.05).

    Differs: the released code appends until the length is reached and drops what is too much.
    """

    gives: ClassVar[frozenset[str]] = frozenset()

    single_segment_share: Share = 0.1

    def blocks(self, store: TokenStore, seed: int, epoch: int) -> BlockTable:
        """Return the blocks of one epoch. Raises: DataError where documents have no sentences."""
        require_sentences(store, type(self).__name__)
        units = units_of(store, self.room)
        shares = self.short_sequence_share, self.single_segment_share
        keys = self.keys(seed, epoch, "split segments")
        lengths_n, second_lengths_n = _splits(units.lengths, units.document_ends, self.room, *shares, *keys)
        starts_n = starts_of(lengths_n + second_lengths_n)
        return self.table(np.stack([starts_n, lengths_n, starts_n + lengths_n, second_lengths_n]))


@njit
def _splits(lengths_u, document_ends, room, short_share, single_share, key, short_key):
    lengths = np.empty(len(lengths_u), dtype=np.int64)
    second_lengths = np.empty(len(lengths_u), dtype=np.int64)
    n, u = 0, 0
    for d in range(len(document_ends)):
        last = document_ends[d]
        while u < last:
            target = shorter_target(room, short_share, short_key, n)
            end, size = run_of_units(lengths_u, u, last, target)
            block_key = child_key(key, n)
            first_size = size
            if uniform(block_key, 0) >= single_share:
                half = target // 2
                cut, first_size = u + 1, lengths_u[u]
                while cut < end and first_size + lengths_u[cut] < half:
                    first_size += lengths_u[cut]
                    cut += 1
                if cut < end and first_size < half and uniform(block_key, 1) < 0.5:
                    first_size += lengths_u[cut]
            lengths[n], second_lengths[n] = first_size, size - first_size
            u = end
            n += 1
    return lengths[:n].copy(), second_lengths[:n].copy()
