"""Where words start, told from ids alone: one table over the vocabulary, looked up for any number of tokens.

In WordPiece a token starts a word unless its piece is a continuation (`##x`), so every punctuation mark, `[UNK]` and
single Chinese character is a word of its own. Byte-level BPE and SentencePiece mark beginnings instead: there a token
starts a word if its piece begins with the mark of a blank or with punctuation. Special tokens belong to no word.

Letters: V vocabulary, n tokens. Source: spec FAMILY, section 1.2; traps 7A-11 and 7A-12.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class WordMarks:
    """How pieces show where words start: what continuations begin with or, where not empty, what starts begin with."""

    continuation: str = "##"
    starts: tuple[str, ...] = ()

    def starts_word(self, piece: str) -> bool:
        """Whether a piece begins a word, wherever it stands."""
        if self.starts:
            return piece.startswith((*self.starts, *string.punctuation))
        return not (self.continuation and piece.startswith(self.continuation))


BERT_MARKS = WordMarks()


def starts_word_table(
    pieces: Sequence[str], *, special_ids: Collection[int], unk_id: int, marks: WordMarks = BERT_MARKS
) -> np.ndarray:
    """Whether each id starts a word, [V] bool. The unknown token does; the other special tokens do not."""
    table = np.array([marks.starts_word(piece) for piece in pieces], dtype=bool)
    table[sorted(special_ids)] = False
    table[unk_id] = True
    return table


def word_ids(ids: np.ndarray, starts_word: np.ndarray) -> np.ndarray:
    """Number the words of a text from 0, [n] int32. A continuation without a beginning opens the first word."""
    starts = starts_word[ids].astype(np.int32)
    if starts.size:
        starts[0] = 1
    return np.cumsum(starts, dtype=np.int32) - np.int32(1)
