"""Which answers a vocabulary can point at: a model answers with whole pieces, and some answers end inside one.

`exact_ceiling` is the exact match of a model that always chooses the best span of pieces: what no training can pass.
Looked at are all places of the passage where a gold answer stands, whatever its case, with the pieces that cover it and
those inside it; spans longer than `max_answer_tokens` are not offered.

Letters: n tokens of a passage.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spanwise.tasks.qa.data import Question, SquadData
from spanwise.tasks.qa.metrics import Metric
from spanwise.text.tokenizers import Encoding


@dataclass(frozen=True, kw_only=True)
class Reach:
    """The number of questions that have an answer, of those without a gold answer that begins and ends where pieces do,
    of those that no span of pieces answers exactly, and of questions that have no answer."""

    num_answerable: int
    num_off_borders: int
    num_unmatched: int
    num_unanswerable: int = 0

    @property
    def off_borders(self) -> float:
        """Share of answers that no piece border can reach, 0 to 100."""
        return 100.0 * self.num_off_borders / max(1, self.num_answerable)

    @property
    def exact_ceiling(self) -> float:
        """The best exact match over all questions, 0 to 100."""
        total = self.num_answerable + self.num_unanswerable
        return 100.0 * (total - self.num_unmatched) / max(1, total)

    def record(self) -> dict[str, float]:
        return {"off_borders": self.off_borders, "exact_ceiling": self.exact_ceiling}

    def __str__(self) -> str:
        return (
            f"{self.num_off_borders:,} of {self.num_answerable:,} answers ({self.off_borders:.1f} %) do not begin and "
            f"end where pieces do; with this vocabulary exact match cannot pass {self.exact_ceiling:.1f}"
        )


def measure_reach(
    data: SquadData,
    passages: Sequence[Encoding],
    passage_of: np.ndarray,
    metric: Metric,
    *,
    max_answer_tokens: int,
    allow_null: bool,
) -> Reach | None:
    """Measure what the pieces of `passages` can reach; `passage_of` says which of them each question is on.

    allow_null: whether a question may be answered by "no answer". None where no question has an answer.
    """
    offsets = [np.asarray(passage.offsets, dtype=np.int64).reshape(-1, 2) for passage in passages]
    num_off_borders = num_unmatched = num_answerable = 0
    for number, question in enumerate(data.questions):
        if not question.answers:
            num_unmatched += not allow_null
            continue
        num_answerable += 1
        offsets_n2, context = offsets[passage_of[number]], data.context_of(question)
        on_borders, matched = _reached(question, context, offsets_n2, metric, max_answer_tokens)
        num_off_borders += not on_borders
        num_unmatched += not matched
    if not num_answerable:
        return None
    return Reach(
        num_answerable=num_answerable,
        num_off_borders=num_off_borders,
        num_unmatched=num_unmatched,
        num_unanswerable=len(data.questions) - num_answerable,
    )


def _reached(
    question: Question, context: str, offsets_n2: np.ndarray, metric: Metric, max_answer_tokens: int
) -> tuple[bool, bool]:
    """Return whether a gold answer stands between piece borders somewhere, and whether some span reads as one."""
    golds = {metric.normalize(answer.text) for answer in question.answers}
    on_borders = matched = False
    for text in dict.fromkeys(answer.text for answer in question.answers):
        for start, end in _places(text, context):
            for first, last in _spans(offsets_n2, start, end):
                begin, stop = int(offsets_n2[first, 0]), int(offsets_n2[last, 1])
                on_borders |= (begin, stop) == (start, end)
                if last - first < max_answer_tokens:
                    matched |= metric.normalize(context[begin:stop]) in golds
            if on_borders and matched:
                return True, True
    return on_borders, matched


def _places(text: str, context: str) -> Iterator[tuple[int, int]]:
    """Half-open characters where the text stands in the passage: as it is first, then in any case."""
    text = text.strip()
    if not text:
        return
    start = context.find(text)
    while start >= 0:
        yield start, start + len(text)
        start = context.find(text, start + 1)
    for found in re.finditer(re.escape(text), context, re.IGNORECASE):
        yield found.span()


def _spans(offsets_n2: np.ndarray, start: int, end: int) -> Iterator[tuple[int, int]]:
    """First and last piece of the spans around and inside the characters: each end at the piece that it lies in, or at
    the next one further in."""
    begins, ends = offsets_n2[:, 0], offsets_n2[:, 1]
    outer_first = int(np.searchsorted(ends, start, side="right"))
    inner_first = int(np.searchsorted(begins, start, side="left"))
    outer_last = int(np.searchsorted(begins, end, side="left")) - 1
    inner_last = int(np.searchsorted(ends, end, side="right")) - 1
    num_tokens = len(offsets_n2)
    for first, last in itertools.product({outer_first, inner_first}, {outer_last, inner_last}):
        if 0 <= first <= last < num_tokens:
            yield first, last
