"""Phrases from a file: JSON lines of a sentence's text and its spans, as Prodigy and doccano write them.

`{"text": "Denver won.", "spans": [{"start": 0, "end": 6, "label": "ORG"}]}`, or spans as lists, `[0, 6]` or
`[0, 6, "ORG"]`; ranges are half-open, in characters. A sentence that the file does not have has no phrase. Memory grows
with the file, by some 100 bytes a line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spanwise.errors import DataError
from spanwise.text.phrases import phrase_tags
from spanwise.text.tokenizers import Encoding


class SpanFileTagger:
    """A `Tagger` that looks each sentence up in a file. Sentences are compared as they are stored, blanks aside."""

    def __init__(self, name: str, path: str | Path) -> None:
        """Read the file; `name` is that of the side array.

        Raises: DataError naming the line of a record that is not as above.
        """
        self.name = name
        self.path = Path(path)
        self._spans: dict[bytes, tuple[tuple[int, int], ...]] = {}
        self._met: set[bytes] = set()
        digest = hashlib.sha256()
        try:
            with self.path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    digest.update(line)
                    if line.strip():
                        self._read(line, f"{self.path}:{number}")
        except OSError as cause:
            raise DataError(f"{self.path} cannot be read: {cause.strerror or cause}.") from cause
        if not self._spans:
            raise DataError(f"{self.path} holds no sentence; write JSON lines with 'text' and 'spans'.")
        self.source = f"file {self.path.name} {digest.hexdigest()[:16]}"

    @property
    def num_unmet(self) -> int:
        """Sentences of the file that no text had: other sentence borders, or another Unicode form."""
        return len(self._spans) - len(self._met)

    def tag(self, texts: Sequence[str], encodings: Sequence[Encoding]) -> list[np.ndarray]:
        """The tags of k sentences, see `phrases.py`."""
        return [self._tag_one(text, encoding) for text, encoding in zip(texts, encodings, strict=True)]

    def _tag_one(self, text: str, encoding: Encoding) -> np.ndarray:
        key = _key(text)
        spans = self._spans.get(key, ())
        if key in self._spans:
            self._met.add(key)
        shift = len(text) - len(text.lstrip())
        return phrase_tags(text, encoding.offsets, [(start + shift, end + shift) for start, end in spans])

    def _read(self, line: bytes, where: str) -> None:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as cause:
            raise DataError(f"{where} is not JSON ({cause}).") from cause
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
        self._spans[_key(text)] = tuple((start - shift, end - shift) for start, end in ranges)


def _range(span: Any, where: str) -> tuple[int, int]:
    """Read one span: a list that begins with start and end, or a record of both."""
    pair = [span.get("start"), span.get("end")] if isinstance(span, dict) else span
    if not isinstance(pair, list) or len(pair) < 2 or any(type(place) is not int for place in pair[:2]):
        raise DataError(f"{where}: {span!r} is no span; write [start, end] or an object with 'start' and 'end'.")
    return pair[0], pair[1]


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=12).digest()
