"""Where words start, told from ids alone: one table over the vocabulary, looked up for any number of tokens.

A token starts a word unless its piece is a continuation (`##x`), so every punctuation mark, `[UNK]` and single
Chinese character is a word of its own. Special tokens belong to no word.

Letters: V vocabulary, n tokens. Source: spec FAMILY, section 1.2; traps 7A-11 and 7A-12.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np


def starts_word_table(
    pieces: Sequence[str], *, special_ids: Collection[int], unk_id: int, continuation_prefix: str = "##"
) -> np.ndarray:
    """Whether each id starts a word, [V] bool. The unknown token does; the other special tokens do not."""
    table = np.array([not piece.startswith(continuation_prefix) for piece in pieces], dtype=bool)
    table[sorted(special_ids)] = False
    table[unk_id] = True
    return table


def word_ids(ids: np.ndarray, starts_word: np.ndarray) -> np.ndarray:
    """Number the words of a text from 0, [n] int32. A continuation without a beginning opens the first word."""
    starts = starts_word[ids].astype(np.int32)
    if starts.size:
        starts[0] = 1
    return np.cumsum(starts, dtype=np.int32) - np.int32(1)
