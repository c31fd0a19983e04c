"""One kind of tokenizer a file: its pipeline as the family's authors have it, and how a vocabulary of it is learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import tokenizers

from spanwise.text.kinds import bpe, byte_bpe, unigram, wordpiece
from spanwise.text.sample import Sample, Wanted


@dataclass(frozen=True, kw_only=True)
class Kind:
    """How a kind is learned, and what it does with case where nothing is said."""

    learn: Callable[[Sample, Wanted], tokenizers.Tokenizer]
    cased: bool
    smallest: int = 64  # vocabulary


KINDS = {
    "wordpiece": Kind(learn=wordpiece.learn, cased=True),
    "byte-bpe": Kind(learn=byte_bpe.learn, cased=True, smallest=byte_bpe.SMALLEST_VOCABULARY),
    "bpe": Kind(learn=bpe.learn, cased=False),
    "unigram": Kind(learn=unigram.learn, cased=False),
}
