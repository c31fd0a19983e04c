"""Encoding a corpus: each word is tokenized once, then looked up. Exact, and several times as fast.

A tokenizer of BERT's type never looks past a space or an ASCII punctuation mark, so the ids of a text are those of the
pieces between them, end to end. Where a tokenizer does look further (byte-level BPE, unigram), texts go to it whole.

Letters: k texts, n tokens (of `WordTable`: n bytes), w words.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from spanwise.data.gather import gather_ranges
from spanwise.runtime.compiled import njit
from spanwise.text.tokenizers import Tokenizer

_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # of FNV-1a
_HALF = np.uint64(32)
_SPACE = 32


class WordTable:
    """A number for each different word of texts, in the order of their first appearance.

    A word is a run of characters between spaces and ASCII punctuation marks; a mark is a word of its own. Words are
    kept apart by their bytes, not by their hashes alone, so that no two ever share a number. A compiled pass reads the
    UTF-8 bytes. Not for use by two threads at once.
    """

    def __init__(self) -> None:
        self._slots = np.full(1 << 12, -1, dtype=np.int32)  # by hash: a number
        self._hashes = np.empty(1 << 11, dtype=np.uint64)
        self._starts = np.zeros((1 << 11) + 1, dtype=np.int64)  # of each word's bytes
        self._letters = np.empty(1 << 14, dtype=np.uint8)
        self._num_words = 0

    def __len__(self) -> int:
        return self._num_words

    @property
    def num_bytes(self) -> int:
        return int(self._starts[self._num_words])

    def number(self, content: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The words of k texts as numbers [w] int32, and where each text ends among them [k].

        content: their bytes end to end, uint8 [n]; ends: where each one ends [k] int64. New words get the next numbers.
        """
        numbers = np.empty(len(content), dtype=np.int32)  # a word has a byte at least
        word_ends = np.empty(len(ends), dtype=np.int64)
        state = np.array([self._num_words, 0, 0, 0], dtype=np.int64)
        while not _number(
            content, ends, self._slots, self._hashes, self._starts, self._letters, state, numbers, word_ends
        ):
            self._grow(int(state[0]), len(content))
        self._num_words = int(state[0])
        return numbers[: state[3]].copy(), word_ends

    def _grow(self, num_words: int, num_bytes: int) -> None:
        """Room for twice as many words, and for a word of all the bytes that are being read."""
        if 2 * (num_words + 1) > len(self._slots):
            self._slots = _filled(2 * len(self._slots), self._hashes, num_words)
        self._hashes = _larger(self._hashes, len(self._slots) // 2)
        self._starts = _larger(self._starts, len(self._slots) // 2 + 1)
        used = int(self._starts[num_words])
        self._letters = _larger(self._letters, used + max(used, num_bytes))

    def words(self, first: int) -> list[str]:
        """The words from number `first` on."""
        starts = self._starts[first : self._num_words + 1].tolist()
        base, letters = starts[0], self._letters[starts[0] : starts[-1]].tobytes()
        return [letters[start - base : end - base].decode() for start, end in itertools.pairwise(starts)]


@njit(inline="always")
def _stands_alone(byte):
    """Return whether a byte is one of !-/ :-@ [-` {-~."""
    return 33 <= byte <= 47 or 58 <= byte <= 64 or 91 <= byte <= 96 or 123 <= byte <= 126


def _larger(values: np.ndarray, size: int) -> np.ndarray:
    """At least `size` places, with the values in front."""
    if len(values) >= size:
        return values
    return np.concatenate((values, np.empty(size - len(values), dtype=values.dtype)))


@njit
def _filled(size, hashes, num_words):
    """So many slots, with all words in them."""
    slots = np.full(size, -1, dtype=np.int32)
    last = size - 1
    for word in range(num_words):
        slot = np.int64(hashes[word]) & last
        while slots[slot] >= 0:
            slot = (slot + 1) & last
        slots[slot] = word
    return slots


@njit
def _is_word(letters, start, end, content, begin, length):
    if end - start != length:
        return False
    for step in range(length):  # noqa: SIM110  compiled
        if letters[start + step] != content[begin + step]:
            return False
    return True


@njit
def _number(content, ends, slots, hashes, starts, letters, state, numbers, word_ends):
    """Go on from `state` (words known, text, byte, words read); False where the table is full before all is read.

    The arrays are never replaced in here: counting who holds them would cost more than all the rest.
    """
    num_words, first_text, place, count = state
    last = len(slots) - 1
    for text in range(first_text, len(ends)):
        end = ends[text]
        while place < end:
            if content[place] == _SPACE:
                place += 1
                continue
            begin = place
            value = (_OFFSET ^ np.uint64(content[place])) * _PRIME
            place += 1
            if not _stands_alone(content[begin]):
                while place < end and content[place] != _SPACE and not _stands_alone(content[place]):
                    value = (value ^ np.uint64(content[place])) * _PRIME
                    place += 1
            value ^= value >> _HALF
            slot = np.int64(value) & last
            word = slots[slot]
            while word >= 0 and not (
                hashes[word] == value
                and _is_word(letters, starts[word], starts[word + 1], content, begin, place - begin)
            ):
                slot = (slot + 1) & last
                word = slots[slot]
            if word < 0:
                start, stop = starts[num_words], starts[num_words] + place - begin
                if 2 * (num_words + 1) > len(slots) or num_words == len(hashes) or stop > len(letters):
                    state[0], state[1], state[2], state[3] = num_words, text, begin, count
                    return False
                word = np.int32(num_words)
                num_words += 1
                starts[num_words] = stop
                for step in range(place - begin):
                    letters[start + step] = content[begin + step]
                hashes[word], slots[slot] = value, word
            numbers[count] = word
            count += 1
        word_ends[text] = count
    state[0], state[3] = num_words, count
    return True


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
