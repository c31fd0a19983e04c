"""One run of whole sentences of one document: [CLS] text [SEP].

Source: SpanBERT, section 3.3 (single-sequence training); block rule of the released code in spec FAMILY section 3.1.
Letters: n blocks, u units (sentences, or pieces of an over-long one), d documents, S sequences, T tokens of a pack.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spanwise.config import part
from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.packs import Pack
from spanwise.runtime.compiled import njit


@part("single_segment")
class SingleSegment:
    """Append whole sentences until the next one would pass `max_length - 2`; never cross a document.

    Every token of the store is in exactly one block. A sentence longer than a block is cut, before a word where
    that is possible; its last piece goes on as if it were a sentence.

    Differs: the released code drops sentences longer than a block, and with them what was pending.
    """

    gives: ClassVar[frozenset[str]] = frozenset()
    changes_with_epoch: ClassVar[bool] = False

    max_length: int = 512  # tokens of a sequence, [CLS] and [SEP] included

    def __post_init__(self) -> None:
        if self.max_length < 3:
            raise ConfigError(f"format.max_length must be at least 3 ([CLS], one token, [SEP]), got {self.max_length}.")

    def blocks(self, store: TokenStore, seed: int = 0, epoch: int = 0) -> BlockTable:
        """Return the blocks of a store; they do not depend on seed and epoch."""
        room = self.max_length - 2
        lengths_u = np.ascontiguousarray(store.sentence_lengths, dtype=np.int64)
        document_ends = np.ascontiguousarray(store.document_borders, dtype=np.int64)[1:]
        too_long = np.flatnonzero(lengths_u > room)
        if len(too_long):
            lengths_u, document_ends = _cut_long_sentences(store, lengths_u, document_ends, too_long, room)
        lengths_n = _block_lengths(lengths_u, document_ends, room)
        starts_n = np.zeros(len(lengths_n), dtype=np.int64)
        np.cumsum(lengths_n[:-1], out=starts_n[1:])
        return BlockTable(starts=starts_n, lengths=lengths_n, num_special=2)

    def assemble(self, store: TokenStore, table: BlockTable, rows: np.ndarray) -> Pack:
        """Return the blocks `rows` [S] of the table as one pack of [CLS] block [SEP] sequences."""
        rows_S = np.ascontiguousarray(rows, dtype=np.int64)
        lengths_S = table.lengths[rows_S]
        vocabulary = store.vocabulary
        input_ids, borders, maskable, starts_word = _assemble(
            np.ascontiguousarray(store.gather(table.starts[rows_S], lengths_S), dtype=np.int64),
            lengths_S,
            vocabulary.cls_id,
            vocabulary.sep_id,
            vocabulary.unk_id,
            vocabulary.is_special,
            vocabulary.starts_word,
        )
        return Pack(
            input_ids=input_ids,
            token_type_ids=np.zeros(len(input_ids), dtype=np.int64),
            borders=borders,
            maskable=maskable,
            starts_word=starts_word,
            block_ids=rows_S,
        )


@njit
def _block_lengths(lengths_u, document_ends, room):
    blocks = np.empty(len(lengths_u), dtype=np.int64)
    num_blocks, first = 0, 0
    for d in range(len(document_ends)):
        pending = np.int64(0)
        for u in range(first, document_ends[d]):
            if pending and pending + lengths_u[u] > room:
                blocks[num_blocks] = pending
                num_blocks += 1
                pending = np.int64(0)
            pending += lengths_u[u]
        if pending:
            blocks[num_blocks] = pending
            num_blocks += 1
        first = document_ends[d]
    return blocks[:num_blocks].copy()


def _cut_long_sentences(store: TokenStore, lengths_u, document_ends, too_long, room: int):
    """Put the pieces of over-long sentences in their place; return the new lengths and document ends, in units."""
    vocabulary = store.vocabulary
    pieces: list[np.ndarray] = []
    num_pieces_u = np.ones(len(lengths_u), dtype=np.int64)
    last = 0
    for u in too_long.tolist():
        ids = store.gather(np.asarray(store.sentence_offsets[u : u + 1]), lengths_u[u : u + 1])
        cut = _piece_lengths(vocabulary.starts_word[ids] | vocabulary.is_special[ids], room)
        pieces += [lengths_u[last:u], cut]
        num_pieces_u[u] = len(cut)
        last = u + 1
    pieces.append(lengths_u[last:])
    ends_u = np.concatenate([[0], np.cumsum(num_pieces_u)])
    return np.concatenate(pieces), ends_u[document_ends]


@njit
def _piece_lengths(starts_word, room):
    pieces = np.empty(len(starts_word), dtype=np.int64)
    num_pieces, first = 0, 0
    while len(starts_word) - first > room:
        end = first + room
        while end > first and not starts_word[end]:
            end -= 1
        if end == first:  # one word fills the whole block: cut it where the block ends
            end = first + room
        pieces[num_pieces] = end - first
        num_pieces += 1
        first = end
    pieces[num_pieces] = len(starts_word) - first
    return pieces[: num_pieces + 1].copy()


@njit
def _assemble(text_ids, lengths_S, cls_id, sep_id, unk_id, is_special_V, starts_word_V):
    num_sequences = len(lengths_S)
    num_tokens = len(text_ids) + 2 * num_sequences
    input_ids = np.empty(num_tokens, dtype=np.int64)
    maskable = np.zeros(num_tokens, dtype=np.bool_)
    starts_word = np.zeros(num_tokens, dtype=np.bool_)
    borders = np.zeros(num_sequences + 1, dtype=np.int64)
    source = 0
    for s in range(num_sequences):
        first, length = borders[s] + 1, lengths_S[s]
        last = first + length
        borders[s + 1] = last + 1
        input_ids[first - 1], input_ids[last] = cls_id, sep_id
        text = text_ids[source : source + length]
        ids, may, starts = input_ids[first:last], maskable[first:last], starts_word[first:last]
        source += length
        inside = False
        for i in range(length):
            token = text[i]
            # [UNK] stands for a word of the text; other specials can come from foreign stores alone
            unknown = token == unk_id
            hideable = unknown | (not is_special_V[token])
            ids[i] = token
            may[i] = hideable
            starts[i] = hideable & (unknown | starts_word_V[token] | (not inside))
            inside = hideable
    return input_ids, borders, maskable, starts_word
