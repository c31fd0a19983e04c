"""Phrases from a file: JSON lines of a text and its spans, as Prodigy and doccano write them.

`{"text": "Denver won.", "spans": [{"start": 0, "end": 6, "label": "ORG"}]}`, or spans as lists, `[0, 6]` or
`[0, 6, "ORG"]`; ranges are half-open, in characters. A text may be a sentence or whole paragraphs, which are split
into sentences as the corpus is. A sentence that the file does not have has no phrase. Memory grows with the file, by
some 100 bytes per sentence.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from spanwise.errors import DataError
from spanwise.runtime.files import sha256_of
from spanwise.text.corpus import CorpusOptions, split_text
from spanwise.text.encoding import Encoding
from spanwise.text.readers import read_json_lines
from spanwise.text.tags import phrase_tags

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Split:
    """The parts that a record of several sentences was cut into."""

    sentences: tuple[bytes, ...]  # their keys
    num_crossing: int  # spans that lie in no single one


class SpanFileTagger:
    """A `Tagger` that looks each sentence up in a file. Sentences are compared as they are stored, blanks aside.

    A record of the very sentence goes before one that merely holds it; of equals, the last in the file.
    """

    def __init__(self, name: str, path: str | Path, options: CorpusOptions | None = None) -> None:
        """Read the file; `name` is that of the side array, `options` are those of the corpus.

        Raises: DataError naming the line of a record that is not as above.
        """
        self.name = name
        self.path = Path(path)
        self._options = replace(options or CorpusOptions(), unicode_form="as_is")  # or the spans would lie elsewhere
        self._spans: dict[bytes, Spans] = {}  # of records as they are
        self._inner: dict[bytes, Spans] = {}  # of sentences of longer ones
        self._split: dict[bytes, _Split] = {}
        self._met: set[bytes] = set()
        for number, record in read_json_lines(self.path):
            self._read(record, f"{self.path} line {number}")
        if not self._spans:
            raise DataError(f"{self.path} holds no sentence; write JSON lines with 'text' and 'spans'.")
        self.source = f"file {self.path.name} {sha256_of(self.path)[:16]}"

    @property
    def num_unmet(self) -> int:
        """Records that no text had, or not all of their sentences: other sentence borders, or another Unicode form."""
        return sum(not self._is_met(key) for key in self._spans)

    @property
    def num_crossing(self) -> int:
        """Spans left out because they cross the border of two sentences that were met."""
        whole = self._met
        return sum(found.num_crossing for key, found in self._split.items() if key not in whole and self._is_met(key))

    def _is_met(self, key: bytes) -> bool:
        split = self._split.get(key)
        return key in self._met or (split is not None and self._met.issuperset(split.sentences))

    def tag(self, texts: Sequence[str], encodings: Sequence[Encoding]) -> list[np.ndarray]:
        """The tags of k sentences, see `text/tags.py`."""
        return [self._tag_one(text, encoding) for text, encoding in zip(texts, encodings, strict=True)]

    def _tag_one(self, text: str, encoding: Encoding) -> np.ndarray:
        key = _key(text)
        spans = self._spans[key] if key in self._spans else self._inner.get(key, ())
        if key in self._spans or key in self._inner:
            self._met.add(key)
        shift = len(text) - len(text.lstrip())
        return phrase_tags(text, encoding.offsets, [(start + shift, end + shift) for start, end in spans])

    def _read(self, record: object, where: str) -> None:
        text, spans = (record.get("text"), record.get("spans")) if isinstance(record, dict) else (None, None)
        if not isinstance(text, str) or not isinstance(spans, list):
            raise DataError(f"{where} has no 'text' with a list of 'spans'; every line needs both.")
        shift = len(text) - len(text.lstrip())
        ranges = [_range(span, where) for span in spans]
        for start, end in ranges:
            if not shift <= start < end <= len(text.rstrip()):
                raise DataError(
                    f"{where}: the span [{start}, {end}) does not lie in its text of {len(text)} characters."
                )
        key = _key(text)
        self._spans[key] = tuple((start - shift, end - shift) for start, end in ranges)
        self._split_up(key, text, ranges)

    def _split_up(self, key: bytes, text: str, ranges: list[tuple[int, int]]) -> None:
        """Keep the spans of each sentence too, where `text` has several."""
        self._split.pop(key, None)
        sentences = split_text(text, self._options)
        if len(sentences) < 2:
            return
        keys, num_inside, first = [], 0, 0
        for sentence in sentences:
            first = text.index(sentence, first)  # nothing but white space lies between two
            last = first + len(sentence)
            spans = tuple((start - first, end - first) for start, end in ranges if first <= start and end <= last)
            keys.append(_key(sentence))
            self._inner[keys[-1]] = spans
            num_inside += len(spans)
            first = last
        self._split[key] = _Split(tuple(keys), len(ranges) - num_inside)


def _range(span: object, where: str) -> tuple[int, int]:
    """Read one span: a list that begins with start and end, or a record of both."""
    pair = [span.get("start"), span.get("end")] if isinstance(span, dict) else span
    if not isinstance(pair, list) or len(pair) < 2 or any(type(place) is not int for place in pair[:2]):
        raise DataError(f"{where}: {span!r} is no span; write [start, end] or an object with 'start' and 'end'.")
    return pair[0], pair[1]


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=12).digest()
