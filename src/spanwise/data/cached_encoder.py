"""Encoding a corpus: each word is tokenized once, then looked up. Exact, and several times as fast.

A tokenizer of BERT's type never looks past a space or an ASCII punctuation mark, so the ids of a text are those of the
pieces between them, end to end. Where a tokenizer does look further (byte-level BPE, unigram), texts go to it whole.

Letters: k texts, n tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spanwise.data.gather import gather_ranges
from spanwise.data.word_table import WordTable
from spanwise.text.tokenizers import Tokenizer

_SLASH = "\u0338".encode()  # the one mark that Unicode NFC joins to an ASCII sign before it, `=` to U+2260
_MARKS = "|~^`"  # ASCII signs that may part new words; the first that the vocabulary has is taken
_WORDS_A_TEXT = 256
LARGEST_CACHE_WORDS = 1 << 18
LARGEST_CACHE_BYTES = 1 << 23


class CachedEncoder:
    """As `Tokenizer.encode_flat`, with a bounded memory of words. Not for use by two threads at once."""

    _words: WordTable
    _ids: np.ndarray  # of all words, end to end
    _starts: np.ndarray  # of each word in _ids
    _lengths: np.ndarray

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._mark = next((sign for sign in _MARKS if _is_one_token(tokenizer, sign)), None)
        self._forget()

    def encode_flat(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The ids of k texts end to end [n], and their lengths [k] int64. Raises: DataError as `Tokenizer`."""
        if not self._tokenizer.splits_words:
            return self._tokenizer.encode_flat(texts)
        try:
            encoded = [text.encode() for text in texts]
        except UnicodeEncodeError:  # half a surrogate pair, which the tokenizer refuses by name
            return self._tokenizer.encode_flat(texts)
        content = b"".join(encoded)
        if _SLASH in content:
            return self._tokenizer.encode_flat(texts)
        if len(self._words) > LARGEST_CACHE_WORDS or self._words.num_bytes > LARGEST_CACHE_BYTES:
            self._forget()
        ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        numbers, word_ends = self._words.number(np.frombuffer(content, dtype=np.uint8), ends)
        if len(self._words) > len(self._lengths):
            try:
                self._learn(self._words.words(len(self._lengths)))
            except BaseException:  # Ctrl-C too: words without ids must not stay
                self._forget()
                raise
        lengths = self._lengths[numbers]
        ids = gather_ranges(self._ids, self._starts[numbers], lengths)
        borders = np.concatenate(([0], np.cumsum(lengths)))[np.concatenate(([0], word_ends))]  # in tokens
        return ids, np.diff(borders)

    def _learn(self, words: list[str]) -> None:
        ids, lengths = self._encode(words)
        starts = len(self._ids) + np.cumsum(lengths) - lengths
        self._ids = np.concatenate((self._ids, ids))
        self._starts = np.concatenate((self._starts, starts))
        self._lengths = np.concatenate((self._lengths, lengths))

    def _encode(self, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """The words' ids end to end and their lengths. Hundreds of words make one text, a sign behind each: a text
        costs as much as several words."""
        mark = self._mark
        mark_id = None if mark is None else self._tokenizer.token_to_id(mark)
        if mark is None or mark_id is None:
            return self._tokenizer.encode_flat(words)
        others = [word for word in words if word != mark]
        parts = [others[first : first + _WORDS_A_TEXT] for first in range(0, len(others), _WORDS_A_TEXT)]
        ids, _ = self._tokenizer.encode_flat([mark.join([*part, ""]) for part in parts])
        places = np.flatnonzero(ids == mark_id)
        if len(places) != len(others):
            return self._tokenizer.encode_flat(words)
        lengths = np.diff(places, prepend=-1) - 1
        ids = ids[ids != mark_id]
        if len(others) < len(words):  # the sign itself
            where = words.index(mark)
            ids = np.insert(ids, lengths[:where].sum(), mark_id)
            lengths = np.insert(lengths, where, 1)
        return ids.astype(np.int32, copy=False), lengths.astype(np.int64, copy=False)

    def _forget(self) -> None:
        self._words = WordTable()
        self._ids = np.empty(0, dtype=np.int32)
        self._starts = np.empty(0, dtype=np.int64)
        self._lengths = np.empty(0, dtype=np.int64)


def _is_one_token(tokenizer: Tokenizer, sign: str) -> bool:
    number = tokenizer.token_to_id(sign)
    if not tokenizer.splits_words or number is None or number == tokenizer.unk_id:
        return False
    return tokenizer.encode(sign).ids.tolist() == [number]
