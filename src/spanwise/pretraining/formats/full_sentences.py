"""RoBERTa's FULL-SENTENCES: whole sentences one after another, documents not minded: [CLS] text [SEP] text [SEP].

Source: Liu et al. 2019 (RoBERTa), section 4.2 and Table 2.
Letters: n blocks, u units, d documents, S sequences of a pack.
"""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from spanwise.config import part
from spanwise.config.ranges import Length
from spanwise.data.token_store import TokenStore
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.formats.pieces import Frame, assemble, cut_at_documents
from spanwise.pretraining.formats.sentences import starts_of, units_of
from spanwise.pretraining.packs import Pack
from spanwise.runtime.compiled import njit


@part("full_sentences")
class FullSentences:
    """Append whole sentences until the next one would pass `max_length`; where a document ends, put a separator between
    it and the next.

    Every token of the store is in exactly one block; only the last block is short for want of text. A sentence longer
    than a block is cut, before a word where that is possible.
    """

    gives: ClassVar[frozenset[str]] = frozenset()
    changes_with_epoch: ClassVar[bool] = False

    max_length: Annotated[Length, Field(ge=3)] = 512  # tokens of a sequence, all special tokens included

    def blocks(self, store: TokenStore, seed: int = 0, epoch: int = 0) -> BlockTable:
        """Return the blocks of a store; they do not depend on seed and epoch."""
        room = self.max_length - 2
        units = units_of(store, room)
        lengths_n, separators_n = _block_lengths(units.lengths, units.document_ends, room)
        return BlockTable(starts=starts_of(lengths_n), lengths=lengths_n, num_special=2 + separators_n)

    def assemble(self, store: TokenStore, table: BlockTable, rows: np.ndarray) -> Pack:
        """Return the blocks `rows` [S] of the table as one pack."""
        rows_S = np.ascontiguousarray(rows, dtype=np.int64)
        separators_S = np.broadcast_to(table.num_special, table.starts.shape)[rows_S] - 2
        leads_S = np.zeros(len(rows_S), dtype=bool)
        pieces = cut_at_documents(store, table.starts[rows_S], table.lengths[rows_S], separators_S, leads_S)
        return assemble(store, pieces, rows_S, Frame(), None)


@njit
def _block_lengths(lengths_u, document_ends, room):
    blocks = np.empty(len(lengths_u), dtype=np.int64)
    separators = np.zeros(len(lengths_u), dtype=np.int64)
    num_blocks, first = 0, 0
    pending, num_separators = np.int64(0), np.int64(0)
    for d in range(len(document_ends)):
        begins = True
        for u in range(first, document_ends[d]):
            extra = 1 if begins and pending else 0
            if pending and pending + num_separators + extra + lengths_u[u] > room:
                blocks[num_blocks] = pending
                separators[num_blocks] = num_separators
                num_blocks += 1
                pending, num_separators, extra = np.int64(0), np.int64(0), 0
            pending += lengths_u[u]
            num_separators += extra
            begins = False
        first = document_ends[d]
    if pending:
        blocks[num_blocks] = pending
        separators[num_blocks] = num_separators
        num_blocks += 1
    return blocks[:num_blocks].copy(), separators[:num_blocks].copy()
