"""Blocks as plain lists, for the tests of formats."""

from __future__ import annotations

import numpy as np

from spanwise.pretraining.formats import BlockTable


def sequences_of(part, store, table: BlockTable | None = None) -> list[list[int]]:
    """Return the ids of every block, specials included, as one pack of all blocks gives them."""
    table = part.blocks(store, 0, 0) if table is None else table
    pack = part.assemble(store, table, np.arange(table.num_blocks))
    return [ids.tolist() for ids in np.split(pack.input_ids, pack.borders[1:-1])]


def texts_of(store, table: BlockTable) -> list[tuple[list[int], list[int]]]:
    """Return the stored ids of the two ranges of every block."""
    seconds = (table.starts, np.zeros_like(table.lengths))
    if table.second_lengths is not None:
        seconds = (table.second_starts, table.second_lengths)
    ranges = [(table.starts, table.lengths), seconds]
    columns = [np.split(store.gather(*where), np.cumsum(where[1])[:-1]) for where in ranges]
    return [(first.tolist(), second.tolist()) for first, second in zip(*columns, strict=True)]


def visits_of(store, table: BlockTable) -> np.ndarray:
    """Return how often each token of the store lies in a block, [tokens of the store]."""
    steps = np.zeros(store.num_tokens + 1, dtype=np.int64)
    ranges = [(table.starts, table.lengths)]
    if table.second_lengths is not None:
        ranges.append((table.second_starts, table.second_lengths))
    for starts, lengths in ranges:
        np.add.at(steps, starts, 1)
        np.add.at(steps, starts + lengths, -1)
    return np.cumsum(steps)[:-1]


def documents_of(store, offsets: np.ndarray) -> np.ndarray:
    """Return the document that each token of the store lies in."""
    return np.searchsorted(store.sentence_offsets[store.document_borders], offsets, side="right") - 1


def equal_tables(one: BlockTable, other: BlockTable) -> bool:
    """Say whether two tables hold the same blocks in the same order."""
    columns = ("starts", "lengths", "second_starts", "second_lengths", "pair_labels", "num_special")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)


def cut(sentence, room: int, may_start) -> list[list[int]]:
    """Cut a sentence into pieces of at most `room` ids, before a word where there is one."""
    rest, pieces = [int(token) for token in sentence], []
    while len(rest) > room:
        end = next((end for end in range(room, 0, -1) if may_start[rest[end]]), room)
        pieces.append(rest[:end])
        rest = rest[end:]
    return [*pieces, rest]
