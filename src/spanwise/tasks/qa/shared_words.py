"""Which words question and passage share, told to the encoder by token types.

A reader points near the words that a question takes from its passage. A large encoder sees by itself that two tokens
far apart are one word; a small one learns it slowly or never. So a token whose word stands on the other side too has a
token type of its own, and so has one whose word is like one there: "discover" and "discovered", and in Korean a noun
with another particle. The rows begin as copies of those that the encoder has for questions and passages.

Source: Weissenborn et al. 2017 (FastQA), section 2.1 (the word-in-question feature), and Chen et al. 2017 (DrQA),
section 3.2 (exact match). Differs: as token types of an encoder, and on both sides; they compare lemmas, which need a
tool per language, and we the beginnings of words.
Letters: n tokens of a text.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Protocol

import numpy as np

ALIKE, SAME, QUESTION = 1, 2, 2  # a mark: 0, or ALIKE or SAME, and in a question QUESTION more
NUM_TYPES = 4  # token types behind those that the encoder has: one per mark
SHORTEST_BEGINNING = 4  # in Latin letters; a Hangul syllable or a Han character counts as two
LEAST_SHARE = 0.5  # of the longer word, which the common beginning must be
_JOINED = "\u0300-\u0345\u0653-\u0655\u093c\u0bd7\u102e\u1b35\u3099\u309a\U000110ba"  # marks that NFC joins to a letter
_WORD = re.compile(rf"\w[\w{_JOINED}]*")


class PairEncoding(Protocol):
    """What `encode` of the tokenizers library gives for a pair of texts."""

    @property
    def sequence_ids(self) -> Sequence[int | None]: ...
    @property
    def offsets(self) -> Sequence[tuple[int, int]]: ...
    @property
    def type_ids(self) -> Sequence[int]: ...


@dataclass(frozen=True)
class Words:
    """The words of a text, composed (NFC) and in lower case, with the numbers of the tokens that each one has."""

    tokens: dict[str, np.ndarray]
    by_beginning: dict[str, tuple[str, ...]]
    num_tokens: int


def words_of(text: str, offsets_n2: np.ndarray) -> Words:
    """Return the words of a text whose tokens have the character offsets [n, 2]."""
    found = list(_WORD.finditer(text))
    starts = np.array([match.start() for match in found], dtype=np.int64)
    last_n = offsets_n2[:, 1] - 1  # of the token's characters, since a token may begin with the space before its word
    tokens: dict[str, list[int]] = defaultdict(list)
    for number, (place, last) in enumerate(zip(np.searchsorted(starts, last_n, side="right"), last_n, strict=True)):
        if place and last < found[place - 1].end() and last >= offsets_n2[number, 0]:
            tokens[unicodedata.normalize("NFC", found[place - 1].group()).casefold()].append(number)
    kin: dict[str, list[str]] = defaultdict(list)
    for word in tokens:
        kin[_beginning(word)].append(word)
    return Words(
        tokens={word: np.array(numbers) for word, numbers in tokens.items()},
        by_beginning={beginning: tuple(words) for beginning, words in kin.items()},
        num_tokens=len(offsets_n2),
    )


@dataclass(frozen=True)
class Marks:
    """The marks of the tokens of a question and of its whole passage, uint8 [n] each."""

    question: np.ndarray
    passage: np.ndarray

    def typed(self, types_n: np.ndarray, num_types: int, *, question: slice, passage: slice, first: int) -> np.ndarray:
        """Return the token types of a window, of `num_types` in all, with those of the marks: question and passage
        stand in these slices of the window, the passage from its token `first` on."""
        num_own = num_types - NUM_TYPES
        typed_n = np.minimum(types_n, num_own - 1)
        shown = self.passage[first : first + passage.stop - passage.start]
        for place, marks in ((question, self.question[: question.stop - question.start]), (passage, shown)):
            typed_n[place] = np.where(marks, num_own - 1 + marks, typed_n[place])
        return typed_n


def parents(num_own: int, *, is_pair: bool) -> tuple[int, ...]:
    """Return the rows that those of the marks begin as, where the encoder has `num_own` token types: that of questions,
    and for a passage the second one where the frame gives it to the second text of a pair (is_pair)."""
    of_passage = int(is_pair and num_own > 1)
    return (of_passage,) * QUESTION + (0,) * QUESTION


def marked_types(encoding: PairEncoding, question: str, passage: str, num_types: int) -> np.ndarray:
    """Return the token types of a question and its passage, int64, that the tokenizer encoded as a pair: for programs
    that run the model without this package's windows. num_types: of the model (`num_token_types` of its spanwise.json).

    Raises: ValueError where the model has too few types to mark words by.
    """
    if num_types <= NUM_TYPES:
        raise ValueError(f"the model has {num_types} token types and was taught without marks; take encoding.type_ids.")
    owners = np.array([-1 if owner is None else owner for owner in encoding.sequence_ids])
    offsets, types = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2), np.array(encoding.type_ids)
    marks = marks_of(words_of(question, offsets[owners == 0]), words_of(passage, offsets[owners == 1]))
    for side, marks_n in enumerate((marks.question, marks.passage)):
        types[owners == side] = np.where(marks_n, num_types - NUM_TYPES - 1 + marks_n, types[owners == side])
    return types


def marks_of(question: Words, passage: Words) -> Marks:
    """Return which tokens are of a word that the other side has, or of one alike."""
    marks = Marks(np.zeros(question.num_tokens, dtype=np.uint8), np.zeros(passage.num_tokens, dtype=np.uint8))
    pairs = [
        (word, other, ALIKE)
        for word in question.tokens
        for other in passage.by_beginning.get(_beginning(word), ())
        if word != other and are_alike(word, other)
    ]
    pairs += [(word, word, SAME) for word in question.tokens if word in passage.tokens]
    for word, other, mark in pairs:  # the same words last: their mark stays
        marks.question[question.tokens[word]] = QUESTION + mark
        marks.passage[passage.tokens[other]] = mark
    return marks


def are_alike(word: str, other: str) -> bool:
    """Return whether two words in lower case have a beginning in common that is long enough."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False))
    common = _length("".join(letter for letter, _ in same))
    return common >= max(SHORTEST_BEGINNING, LEAST_SHARE * max(_length(word), _length(other)))


def _length(word: str) -> int:
    return len(word) + sum("\u4e00" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7a3" for letter in word)


def _beginning(word: str) -> str:
    """Return what all words that are alike begin with."""
    return word[:2] if _length(word[:2]) >= SHORTEST_BEGINNING else word[:4]
