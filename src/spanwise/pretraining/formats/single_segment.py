"""One run of whole sentences of one document: [CLS] text [SEP].

Source: SpanBERT, section 3.3 (single-sequence training); the rule of blocks is that of the released code. Liu et al.
2019 (RoBERTa), section 4.2 and Table 2 (DOC-SENTENCES).
Letters: n blocks, S sequences of a pack.
"""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from spanwise.config import part
from spanwise.config.ranges import Length
from spanwise.data.token_store import TokenStore
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.formats.pieces import Frame, assemble, one_piece_each
from spanwise.pretraining.formats.sentences import starts_of, units_of, whole_sentences
from spanwise.pretraining.packs import Pack


@part("single_segment")
class SingleSegment:
    """Append whole sentences until the next one would pass `max_length - 2`; never cross a document.

    Every token of the store is in exactly one block. A sentence longer than a block is cut, before a word where
    that is possible; its last piece goes on as if it were a sentence.

    Differs: the released code drops sentences longer than a block, and with them what was pending.
    """

    gives: ClassVar[frozenset[str]] = frozenset()
    changes_with_epoch: ClassVar[bool] = False

    max_length: Annotated[Length, Field(ge=3)] = 512  # tokens of a sequence, [CLS] and [SEP] included

    def blocks(self, store: TokenStore, seed: int = 0, epoch: int = 0) -> BlockTable:
        """Return the blocks of a store; they do not depend on seed and epoch."""
        room = self.max_length - 2
        lengths_n = whole_sentences(units_of(store, room), room)
        return BlockTable(starts=starts_of(lengths_n), lengths=lengths_n, num_special=2)

    def assemble(self, store: TokenStore, table: BlockTable, rows: np.ndarray) -> Pack:
        """Return the blocks `rows` [S] of the table as one pack of [CLS] block [SEP] sequences."""
        rows_S = np.ascontiguousarray(rows, dtype=np.int64)
        pieces = one_piece_each(table.starts[rows_S], table.lengths[rows_S])
        return assemble(store, pieces, rows_S, Frame(), None)


@part("doc_sentences")
class DocSentences(SingleSegment):
    """`SingleSegment` under the name that RoBERTa's comparison of formats gives it.

    Blocks at the end of a document are short. The paper enlarges the batch there to keep its number of tokens; here
    packs are filled by tokens, so that comes by itself.
    """
