"""The terms by which passages are found: stems of words, and pairs of characters where words carry particles.

A question about 서울은 means the passage that says 서울이, and Thai, Chinese or Japanese part their words by no blanks:
such words are taken by pairs of characters. Words of Latin letters are cut to their English stem, so that "built" and
"builds" stay apart, but "bridges" finds "bridge".

Source: Porter 2001 (Snowball), the English stemmer.
"""

import itertools
import re
import unicodedata

import Stemmer

# Thai to Khmer, kana, Han and Hangul
_NO_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_WORD = re.compile(r"\w+")


class Terms(dict[str, tuple[str, ...]]):
    """The terms of each word that was met, looked up once."""

    def __init__(self) -> None:
        super().__init__()
        self._stem = Stemmer.Stemmer("english").stemWord

    def __missing__(self, word: str) -> tuple[str, ...]:
        if _NO_BLANKS.search(word) and len(word) > 1:
            terms = tuple(first + second for first, second in itertools.pairwise(word))
        else:
            terms = (self._stem(word),)
        self[word] = terms
        return terms

    def of(self, text: str) -> list[str]:
        """Return the terms of a text, in order, with repetitions; case and Unicode form make no difference."""
        composed = text if text.isascii() else unicodedata.normalize("NFC", text)
        return [term for word in _WORD.findall(composed.lower()) for term in self[word]]
