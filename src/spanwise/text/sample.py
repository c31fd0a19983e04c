"""The text a vocabulary is learned from: read once, kept packed on disk, its characters counted on the way.

Trainers need the alphabet before they see the first word. What they then read is this copy, in memory that does not
grow with the corpus.
"""

import json
import tempfile
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

import zstandard

from spanwise.errors import ConfigError, DataError
from spanwise.text.corpus import Document, opened_sentences

CHARACTER_COVERAGE = 0.9999
"""Share of all characters that the alphabet covers; the rarest rest becomes [UNK]."""
HANGUL_SHARE = 0.01
"""Where Hangul is as large a share of the text, every syllable that occurs is kept: a word with one that is not would
be [UNK] whole, and Korean has thousands of rare ones."""
_SYLLABLES = range(0xAC00, 0xD7A4)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The vocabulary that is learned; `learn_tokenizer` says what each value means."""

    vocab_size: int
    cased: bool
    min_frequency: int
    num_unused: int
    alphabet_size: int | None
    unicode_form: Literal["NFC", "as_is"]
    boundaries: Literal["words", "morphemes"]
    max_characters: int


class Sample(AbstractContextManager):
    """Sentences on disk. `characters` counts all of theirs; `with` removes the file at the end."""

    def __init__(self, documents: Iterable[Document], wanted: Wanted) -> None:
        """Read up to `wanted.max_characters`. Raises: DataError where there is no text."""
        self.characters: Counter[str] = Counter()
        self._file = tempfile.TemporaryFile(prefix="spanwise-sample-")  # noqa: SIM115  closed by __exit__
        left = wanted.max_characters
        with zstandard.ZstdCompressor(level=1).stream_writer(self._file, closefd=False) as packed:
            for opens, sentence in opened_sentences(documents):
                if wanted.unicode_form == "NFC":
                    sentence = unicodedata.normalize("NFC", sentence)
                sentence = sentence[:left]
                self.characters.update(sentence)
                packed.write(json.dumps([opens, sentence]).encode() + b"\n")
                left -= len(sentence)
                if left <= 0:
                    break
        if not self.characters:
            self._file.close()
            raise DataError("No text was given to learn a vocabulary from: it holds white space only.")

    def __exit__(self, kind, error, trace) -> None:
        self._file.close()

    def sentences(self, *, blanks: bool = False) -> Iterator[str]:
        """The sentences; with `blanks` all but the first of a document have the blank before them that text has."""
        self._file.seek(0)
        rest = b""
        for chunk in zstandard.ZstdDecompressor().read_to_iter(self._file):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                opens, sentence = json.loads(line)
                yield " " + sentence if blanks and not opens else sentence

    def alphabet(self, normalize: Callable[[str], str], wanted: Wanted, *, room: int, pieces_each: int) -> list[str]:
        """The characters that have pieces of their own, the most frequent first, as `normalize` leaves them.

        These are `wanted.alphabet_size`, else what covers nearly all of the text in a third of `room` pieces, and all
        Hangul syllables of a Korean text in as many as there are. A character takes `pieces_each` pieces.
        Warns where not all of those syllables fit, with the vocabulary that holds them.
        Raises: ConfigError where the size asked for does not fit; DataError for text without any character.
        """
        counts: Counter[str] = Counter()
        for character, count in self.characters.items():
            for normal in normalize(character):
                if not normal.isspace():
                    counts[normal] += count
        ordered = sorted(counts, key=lambda character: (-counts[character], character))
        if not ordered:
            raise DataError("No text was given to learn a vocabulary from: it holds control characters only.")
        most = room // pieces_each
        if wanted.alphabet_size is not None:
            if wanted.alphabet_size > most:
                raise ConfigError(
                    f"alphabet_size={wanted.alphabet_size} needs {wanted.alphabet_size * pieces_each} pieces, and "
                    f"vocab_size={wanted.vocab_size} leaves {room}. Raise vocab_size or lower alphabet_size."
                )
            return ordered[: wanted.alphabet_size]
        kept = set(_covering(ordered, counts, room // 3))
        syllables = [character for character in ordered if ord(character) in _SYLLABLES]
        if sum(counts[syllable] for syllable in syllables) >= HANGUL_SHARE * counts.total():
            kept.update(syllables)
        found = [character for character in ordered if character in kept]
        lost = sum(ord(character) in _SYLLABLES for character in found[most:])
        if lost:
            smallest = wanted.vocab_size - room + len(found) * pieces_each
            warnings.warn(
                f"vocab_size={wanted.vocab_size} has no room for {lost:,} of the {len(syllables):,} syllables of this "
                f"text: every word with one of them is [UNK]. To keep them all takes vocab_size={smallest}, before "
                "there is any piece of several syllables.",
                stacklevel=4,  # whoever asked for a tokenizer
            )
        return found[:most]


def _covering(ordered: list[str], counts: Counter[str], largest: int) -> list[str]:
    wanted = CHARACTER_COVERAGE * counts.total()
    covered = 0
    for place, character in enumerate(ordered):
        if covered >= wanted or place >= largest:
            return ordered[:place]
        covered += counts[character]
    return ordered
