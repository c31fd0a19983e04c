"""Which texts share a run of eight words with a set of texts: the test for leaks between training and test files.

Words are what stands between blanks and punctuation, case folded, so neither case nor commas nor quotation marks hide a
copied passage. A character of a script that writes no blanks (Chinese, Japanese) is a word by itself. Only the hashes
of the runs are kept, some 80 bytes per word of the texts that are added: add the test set and ask about the training
text, not the other way round.

Source: runs of n words, case and punctuation dropped, are how Brown et al. 2020 (GPT-3, appendix C; they take 13) look
for test sets in training text; eight finds copies that were cut or edited, too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from spanwise.errors import ConfigError

RUN_WORDS = 8
_WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")


class WordRuns:
    """The runs of `length` words of all texts added. A text of fewer words has no run, and shares none."""

    def __init__(self, texts: Iterable[str] = (), *, length: int = RUN_WORDS) -> None:
        """Raises: ConfigError for a length below 1."""
        if length < 1:
            raise ConfigError(f"a run has at least 1 word, got length={length}.")
        self.length = length
        self._hashes: set[int] = set()
        for text in texts:
            self.add(text)

    def __len__(self) -> int:
        """The number of different runs."""
        return len(self._hashes)

    def add(self, text: str) -> None:
        """Remember the runs of a text."""
        self._hashes.update(map(hash, _runs(words(text), self.length)))

    def shares(self, text: str) -> bool:
        """Return whether a text has a run of one of the texts added."""
        hashes = self._hashes
        return bool(hashes) and any(hash(run) in hashes for run in _runs(words(text), self.length))

    def shared(self, text: str) -> list[str]:
        """The runs that a text has in common with the texts added, as words with a blank between them, in its order."""
        return [run for run in _runs(words(text), self.length) if hash(run) in self._hashes]


def words(text: str) -> list[str]:
    """Return the words of a text, case folded, without punctuation; NFKC, so that wide and narrow forms are one."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _WORD.findall(text.casefold())


def _runs(found: list[str], length: int) -> Iterator[str]:
    return (" ".join(found[first : first + length]) for first in range(len(found) - length + 1))
