"""GPT-1's input: runs of exactly `max_length` tokens of the text as it stands, documents not minded.

Source: Radford et al. 2018 (GPT-1), section 4.1.
Letters: n blocks, d documents, S sequences of a pack.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from spanwise.config import part
from spanwise.config.ranges import Length
from spanwise.data.token_store import TokenStore
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.formats.pieces import Frame, assemble, cut_at_documents, one_piece_each
from spanwise.pretraining.packs import Pack
from spanwise.runtime.compiled import njit

_FRAME = Frame(opens=False, closes=False)


@dataclass(frozen=True, kw_only=True)
class ContiguousTable(BlockTable):
    """A block table whose blocks may begin with the end token of the document before."""

    leads: np.ndarray  # [n] bool


@part("contiguous_text")
class ContiguousText:
    """Cut the whole text into runs of exactly `max_length` tokens; the last run is what remains.

    Every token of the store is in exactly one block. There are no special tokens, or with `document_end="separator"`
    the tokenizer's separator after each document, which counts as a token of its run.
    """

    gives: ClassVar[frozenset[str]] = frozenset()
    changes_with_epoch: ClassVar[bool] = False

    max_length: Annotated[Length, Field(ge=2)] = 512  # tokens of a sequence
    document_end: Literal["nothing", "separator"] = "nothing"

    def blocks(self, store: TokenStore, seed: int = 0, epoch: int = 0) -> BlockTable:
        """Return the blocks of a store; they do not depend on seed and epoch."""
        if self.document_end == "separator":
            ends_d = np.unique(store.sentence_offsets[store.document_borders[1:]])
            starts_n, lengths_n, separators_n, leads_n = _runs_with_ends(ends_d[ends_d > 0], self.max_length)
            return ContiguousTable(starts=starts_n, lengths=lengths_n, num_special=separators_n, leads=leads_n)
        starts_n = np.arange(0, store.num_tokens, self.max_length, dtype=np.int64)
        lengths_n = np.minimum(store.num_tokens - starts_n, self.max_length)
        return BlockTable(starts=starts_n, lengths=lengths_n, num_special=0)

    def assemble(self, store: TokenStore, table: BlockTable, rows: np.ndarray) -> Pack:
        """Return the blocks `rows` [S] of the table as one pack."""
        rows_S = np.ascontiguousarray(rows, dtype=np.int64)
        starts_S, lengths_S = table.starts[rows_S], table.lengths[rows_S]
        pieces = one_piece_each(starts_S, lengths_S)
        if isinstance(table, ContiguousTable):
            separators_S = np.asarray(table.num_special)[rows_S]
            pieces = cut_at_documents(store, starts_S, lengths_S, separators_S, table.leads[rows_S])
        return assemble(store, pieces, rows_S, _FRAME, None)


@njit
def _runs_with_ends(ends_d, max_length):
    num_documents = len(ends_d)
    total = (ends_d[-1] if num_documents else 0) + num_documents
    num_blocks = (total + max_length - 1) // max_length
    starts = np.empty(num_blocks, dtype=np.int64)
    lengths = np.empty(num_blocks, dtype=np.int64)
    separators = np.zeros(num_blocks, dtype=np.int64)
    leads = np.zeros(num_blocks, dtype=np.bool_)
    place, d = np.int64(0), 0
    for n in range(num_blocks):
        starts[n] = place
        leads[n] = place == ends_d[d]  # the run before was full when its document ended
        room = max_length
        while room and d < num_documents:
            taken = min(room, ends_d[d] - place)
            place += taken
            room -= taken
            if room:
                separators[n] += 1
                room -= 1
                d += 1
        lengths[n] = place - starts[n]
    return starts, lengths, separators, leads
