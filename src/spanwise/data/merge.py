"""From parts to one store: the parts of a corpus, each prepared on its own, become what one call would have written.

The parts follow each other as the text does, and a document never crosses from one into the next. So their sentences
in order are those of the whole, and a writer that is given them cuts the same shards, byte for byte.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from spanwise.data.store_writer import SHARD_BYTES, NothingToStoreError, TokenStoreWriter
from spanwise.data.token_store import TokenStore
from spanwise.errors import DataError
from spanwise.runtime.files import read_manifest

CHUNK_TOKENS = 1 << 22  # held at once


def merge_stores(parts: Sequence[Path], out: str | Path, *, shard_bytes: int = SHARD_BYTES) -> int:
    """Write the documents of stores, in the order given, into a new store `out`, and return its number of tokens.

    A part that is a committed folder without any file stands for text that gave no token. Memory does not grow with
    the parts: 4 bytes a sentence of the part being read, and `CHUNK_TOKENS`.
    Raises: DataError where a part is missing or damaged, was made by another tokenizer or with other tags, or where no
    part holds a token; ConfigError where `out` exists.
    """
    filled = [part for part in parts if read_manifest(part, DataError)]
    if not filled:
        raise NothingToStoreError(f"None of {len(parts)} parts holds a token: the text is empty, or all was dropped.")
    first = TokenStore.open(filled[0])
    with TokenStoreWriter(out, first.tokenizer(), shard_bytes=shard_bytes, side_arrays=first.side_arrays) as writer:
        for part in filled:
            store = TokenStore.open(part)
            if (store.tokenizer_sha256, store.side_arrays) != (first.tokenizer_sha256, first.side_arrays):
                raise DataError(f"{part} was made by another tokenizer or with other tags than {filled[0]}.")
            _add(store, writer)
    return writer.num_tokens


def _add(store: TokenStore, writer: TokenStoreWriter) -> None:
    """Add all of a store, in runs of sentences of about `CHUNK_TOKENS` tokens."""
    offsets, borders = store.sentence_offsets, store.document_borders
    begin = 0
    while begin < store.num_sentences:
        end = max(int(np.searchsorted(offsets, offsets[begin] + CHUNK_TOKENS, side="right")) - 1, begin + 1)
        tokens = offsets[begin : begin + 1], offsets[end : end + 1] - offsets[begin]
        writer.add_sentences(
            store.gather(*tokens),
            store.sentence_lengths[begin:end],
            {name: store.gather_side(name, *tokens) for name in store.side_arrays},
            ends=borders[slice(*np.searchsorted(borders, [begin, end], side="right"))] - begin,
        )
        begin = end
