"""Toy packs for the tests of masking and objectives: synthetic words, no strings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from spanwise.pretraining.collate import PackParts
from spanwise.pretraining.masking.alias import AliasTable
from spanwise.pretraining.packs import Pack, Spans

Made = TypeVar("Made")

PAD, UNK, CLS, SEP, MASK = 0, 1, 2, 3, 4


def pack_of(sequences: list[list[int]], first_block: int = 0) -> Pack:
    """Build a pack from sequences written as numbers: 0 is a special, 1 starts a word, 2 goes on with it."""
    kinds_T = np.array([kind for sequence in sequences for kind in sequence], dtype=np.int64)
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
    places_T = np.arange(len(kinds_T))
    input_ids = np.where(kinds_T == 0, CLS, np.where(kinds_T == 1, 5 + places_T % 95, 100 + places_T % 100))
    return Pack(
        input_ids=input_ids,
        token_type_ids=np.zeros(len(kinds_T), dtype=np.int64),
        borders=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        maskable=kinds_T > 0,
        starts_word=kinds_T == 1,
        block_ids=first_block + np.arange(len(lengths)),
    )


def packs_of(num_sequences: int, n: int, seed: int = 0) -> Pack:
    """Build one pack of [CLS] text [SEP] sequences of n maskable tokens each.

    Words have 1, 2, 3, 4 pieces with chances .82, .11, .05, .02.
    """
    rng = np.random.default_rng(seed)
    sequences = []
    for _ in range(num_sequences):
        sizes = rng.choice(4, size=n, p=[0.82, 0.11, 0.05, 0.02]) + 1
        kinds = np.full(int(sizes.sum()), 2)
        kinds[np.cumsum(sizes) - sizes] = 1
        sequences.append([0, *kinds[:n].tolist(), 0])
    return pack_of(sequences)


def hidden_of(pack: Pack, spans: Spans) -> np.ndarray:
    """Say of every token of the pack whether it is hidden, bool [T]."""
    steps_T = np.zeros(len(pack.maskable) + 1, dtype=np.int64)
    np.add.at(steps_T, spans.start, 1)
    np.add.at(steps_T, spans.end, -1)
    return np.cumsum(steps_T)[:-1] > 0


def num_cut_words(pack: Pack, spans: Spans) -> int:
    """Return of how many words some tokens are hidden and some are not."""
    word_N = np.cumsum(pack.starts_word)[pack.maskable]
    size_W, hidden_W = np.bincount(word_N), np.bincount(word_N, weights=hidden_of(pack, spans)[pack.maskable])
    return int(((hidden_W > 0) & (hidden_W < size_W)).sum())


def with_ids(pack: Pack, ids: list[int] | np.ndarray) -> Pack:
    """Return the pack with these ids."""
    return replace(pack, input_ids=np.asarray(ids, dtype=np.int64))


def texts_of(lines: list[str]) -> tuple[Pack, dict[str, int]]:
    """A pack of texts, a token a word and a number a word; `a+b` is one word of two tokens."""
    numbers: dict[str, int] = {"[UNK]": UNK}
    kinds, ids = [], []
    for line in lines:
        words = [word.split("+") for word in line.split()]
        kinds.append([0, *(1 if i == 0 else 2 for word in words for i in range(len(word))), 0])
        ids += [2, *(numbers.setdefault(piece, 10 + len(numbers)) for word in words for piece in word), 2]
    return with_ids(pack_of(kinds), ids), numbers


def with_parts(kind: Callable[..., Made], data: object, **options: Any) -> Made:
    """Make a collator or a source of `kind` over a store, with parts and options named alike."""
    parts = {name: options.pop(name) for name in list(options) if name in PackParts.__dataclass_fields__}
    return kind(data, PackParts(**parts), **options)


def columns_of(table: AliasTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The threshold of each column, times 2**64, the value below it and the value above it, [K] each."""
    low, high = table.columns[:, 1] & np.uint64(2**32 - 1), table.columns[:, 1] >> np.uint64(32)
    return table.columns[:, 0], low.astype(np.int64), high.astype(np.int64)
