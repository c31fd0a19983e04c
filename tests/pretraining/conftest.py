"""Toy packs for the tests of masking and objectives: synthetic words, a vocabulary without strings."""

from __future__ import annotations

import numpy as np
import pytest

from spanwise.data.vocabulary import Vocabulary
from spanwise.pretraining.packs import Pack

PAD, UNK, CLS, SEP, MASK = 0, 1, 2, 3, 4


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    """200 ids: 5 specials, 95 word starts, 100 continuation pieces; counts fall like 1 / rank."""
    ids = np.arange(200)
    return Vocabulary(
        size=200,
        pad_id=PAD,
        unk_id=UNK,
        cls_id=CLS,
        sep_id=SEP,
        mask_id=MASK,
        is_special=ids < 5,
        starts_word=(ids >= 5) & (ids < 100),
        unigram_counts=100_000 // (1 + ids),
    )


def pack_of(sequences: list[list[int]], first_block: int = 0) -> Pack:
    """Build a pack from sequences written as numbers: 0 is a special, 1 starts a word, 2 goes on with it."""
    kinds_T = np.array([kind for sequence in sequences for kind in sequence], dtype=np.int64)
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
    places_T = np.arange(len(kinds_T))
    input_ids = np.where(kinds_T == 0, CLS, np.where(kinds_T == 1, 5 + places_T % 95, 100 + places_T % 100))
    return Pack(
        input_ids=input_ids,
        token_type_ids=np.zeros(len(kinds_T), dtype=np.int64),
        borders=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]).astype(np.int64),
        maskable=kinds_T > 0,
        starts_word=kinds_T == 1,
        block_ids=first_block + np.arange(len(lengths)),
    )


def sequence_of(n: int, rng: np.random.Generator) -> list[int]:
    """One [CLS] text [SEP] of n maskable tokens; words of 1, 2, 3, 4 pieces with chances .82, .11, .05, .02."""
    kinds: list[int] = []
    while len(kinds) < n:
        kinds += [1] + [2] * int(rng.choice(4, p=[0.82, 0.11, 0.05, 0.02]))
    return [0, *kinds[:n], 0]


def packs_of(num_sequences: int, n: int, seed: int = 0) -> Pack:
    """Build one pack of sequences that all have n maskable tokens."""
    rng = np.random.default_rng(seed)
    return pack_of([sequence_of(n, rng) for _ in range(num_sequences)])
