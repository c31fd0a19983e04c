"""The spans and tags that a tagger finds in each sentence, and how they are written and read.

Letters: n units of a sentence, K tags.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spanwise.errors import DataError
from spanwise.tasks.files.text import plain_suffix, read_json, read_lines
from spanwise.tasks.tagging.columns import blocks_of
from spanwise.tasks.tagging.reader import span_values
from spanwise.tasks.tagging.sentences import Kind, Level, Sentence, TaggedData
from spanwise.tasks.tagging.spans import Span, spans_of, tags_of


@dataclass(frozen=True, slots=True)
class Found:
    """One span or word: `text[start:end]`, its label, and the mean probability of its units' tags."""

    start: int
    end: int
    label: str
    score: float


@dataclass(frozen=True, kw_only=True)
class TagPredictions:
    """The spans found in each sentence, the tags of its units as its file has units, and the windows read."""

    sentences: tuple[Sentence, ...]
    found: tuple[tuple[Found, ...], ...]
    tags: tuple[tuple[str, ...], ...]
    num_windows: tuple[int, ...]
    level: Level
    kind: Kind

    def record(self, number: int) -> dict[str, object]:
        """One prediction as plain values; `text[start:end] == span["text"]`."""
        text = self.sentences[number].text
        spans = [
            {"start": f.start, "end": f.end, "text": text[f.start : f.end], "label": f.label, "score": f.score}
            for f in self.found[number]
        ]
        return {"spans": spans, "num_windows": self.num_windows[number], "num_dropped_tokens": 0}

    def files(self) -> dict[str, object]:
        """`.json`: text and spans of each sentence; `.conll`: a unit and its tag per line."""
        lines = []
        for sentence, tags in zip(self.sentences, self.tags, strict=True):
            lines += [f"{unit}\t{tag}" for unit, tag in zip(_written(sentence), tags, strict=True)] + [""]
        records = [{"text": s.text, **self.record(number)} for number, s in enumerate(self.sentences)]
        return {".json": records, ".conll": "".join(line + "\n" for line in lines)}


def decide(
    data: TaggedData,
    outputs: Sequence[np.ndarray],
    unit_spans: Sequence[np.ndarray],
    labels: Sequence[str],
    num_windows: np.ndarray,
) -> TagPredictions:
    """Spans and tags from the scores [n, K] of each sentence's units."""
    found, tags = [], []
    for sentence, scores_nK, spans_n2 in zip(data.sentences, outputs, unit_spans, strict=True):
        scores = scores_nK.astype(np.float64)
        best = scores.argmax(axis=1)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        sure = 1 / shares.sum(axis=1)  # of the best tag: exp(0) over the sum
        told = [labels[k] for k in best]
        spans = spans_of(told) if data.kind == "entities" else [Span(n, n + 1, tag) for n, tag in enumerate(told)]
        here = tuple(
            Found(
                int(spans_n2[s.first, 0]), int(spans_n2[s.last - 1, 1]), s.label, float(sure[s.first : s.last].mean())
            )
            for s in spans
        )
        found.append(here)
        if data.kind == "classes":
            tags.append(tuple(told))
        elif data.level == "words":
            tags.append(tuple(tags_of(spans, len(told))))
        else:
            tags.append(tuple(tags_of([Span(f.start, f.end, f.label) for f in here], len(sentence.text))))
    return TagPredictions(
        sentences=data.sentences,
        found=tuple(found),
        tags=tuple(tags),
        num_windows=tuple(int(n) for n in num_windows),
        level=data.level,
        kind=data.kind,
    )


def _written(sentence: Sentence) -> list[str]:
    """The units of a sentence as they stand in a file of columns; a line feed or tab would end them there."""
    return [re.sub(r"[\t\r\n]", " ", sentence.text[start:end]) for start, end in sentence.units]


def read_tags(path: Path, gold: TaggedData) -> list[tuple[str, ...]]:
    """Tags a sentence, in the order of `gold`, from a file of units and tags or a JSON list of texts and spans, as
    `predict` writes them.

    Raises: DataError where sentences, units or borders of spans are not those of the gold file.
    """
    if plain_suffix(path) == ".json":
        return _read_spans(path, gold)
    blocks, _ = blocks_of(read_lines(path), tabs=True)
    if len(blocks) != len(gold):
        raise DataError(
            f"{path} holds {len(blocks):,} sentences and {gold.source} {len(gold):,}; they must be the same."
        )
    found = []
    for block, sentence in zip(blocks, gold.sentences, strict=True):
        units = _written(sentence)
        if [line.cells[0] for line in block] != units:
            raise DataError(
                f"{path}, line {block[0].number}: the sentence differs from that of {sentence.where} "
                f"({' '.join(units)[:40]!r}); both files must have the same units."
            )
        found.append(tuple(line.cells[-1].strip() for line in block))
    return found


def _read_spans(path: Path, gold: TaggedData) -> list[tuple[str, ...]]:
    records = read_json(path)
    if not isinstance(records, list) or len(records) != len(gold):
        held = f"{len(records):,} sentences" if isinstance(records, list) else "no list of sentences"
        raise DataError(f"{path} holds {held} and {gold.source} {len(gold):,}; they must be the same.")
    found = []
    for number, (record, sentence) in enumerate(zip(records, gold.sentences, strict=True), 1):
        where = f"{path}, entry {number}"
        if not isinstance(record, Mapping) or record.get("text") != sentence.text:
            raise DataError(
                f"{where}: the text differs from that of {sentence.where} ({sentence.text[:40]!r}); both files must "
                "have the same texts."
            )
        first_at = {start: place for place, (start, _) in enumerate(sentence.units)}
        last_at = {end: place for place, (_, end) in enumerate(sentence.units)}
        spans: list[Span] = []
        for start, end, label in span_values(record, where):
            if start not in first_at or end not in last_at:
                raise DataError(f"{where}: the span {start}:{end} does not begin and end where units of the gold do.")
            spans.append(Span(first_at[start], last_at[end] + 1, label))
        if gold.kind == "entities":
            found.append(tuple(tags_of(spans, len(sentence.units))))
        elif [(span.first, span.last) for span in spans] == [(n, n + 1) for n in range(len(sentence.units))]:
            found.append(tuple(span.label for span in spans))
        else:
            raise DataError(f"{where}: each word of the gold needs one class, in order.")
    return found
