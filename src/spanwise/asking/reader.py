"""The reader: a model fine-tuned for question answering, asked the same question of several passages.

Its scores are raw logits, so that those of different passages can be compared; a softmax of each passage alone would
make a passage without any answer as sure of itself as the right one.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spanwise.runtime.device import Precision
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.qa.data import as_data
from spanwise.tasks.qa.features import QuestionWindows, make_windows
from spanwise.tasks.qa.loss import WindowOutput
from spanwise.tasks.qa.ranking import characters_of, question_spans
from spanwise.tasks.qa.task import PAPER_MAX_LENGTH, QuestionAnswering
from spanwise.weights import SHIPPED_FOR

KEPT = 3  # spans of a passage that go on to be merged
_PARAGRAPH_END = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class ReadSpan:
    """Characters `start` to `end` of a passage, and the sum of their start and end logit."""

    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class ReadPassage:
    """The best spans of a passage, best first, and the score of "the answer is not here"."""

    spans: tuple[ReadSpan, ...]
    null_score: float


class Reader:
    """Finds spans that may answer a question. `model`: a folder, hub id or shipped name.

    Raises: CheckpointError for a model that answers no questions; ConfigError for a device or precision it can't have.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        tokenizer: str | Path | None = None,
        device: str | None = None,
        precision: Precision = "auto",
    ) -> None:
        loaded = load_task_model(model, "qa", tokenizer=tokenizer, device=device, precision=precision)
        assert isinstance(loaded.task, QuestionAnswering)
        self.task: QuestionAnswering = loaded.task
        self.model, self.tokenizer, self.precision = loaded.model, loaded.tokenizer, precision

    @classmethod
    def for_language(cls, language: str, *, device: str | None = None, precision: Precision = "auto") -> "Reader":
        """Return the reader that ships for a language."""
        return cls(SHIPPED_FOR[language], device=device, precision=precision)

    def read(self, question: str, passages: Sequence[str]) -> list[ReadPassage]:
        """Return what the model finds in each passage."""
        if not passages:
            return []
        windows = self._windows(question, passages)
        outputs: Sequence[WindowOutput] = self.model.outputs(windows, precision=self.precision)
        borders = np.searchsorted(windows.question_W, np.arange(len(passages) + 1)).tolist()
        return [
            self._best(windows, range(*pair), outputs, text)
            for pair, text in zip(itertools.pairwise(borders), passages, strict=True)
        ]

    def _windows(self, question: str, passages: Sequence[str]) -> QuestionWindows:
        config = self.model.encoder.config
        return make_windows(
            as_data([(question, passage) for passage in passages]),
            self.tokenizer,
            max_length=min(self.task.max_length or PAPER_MAX_LENGTH, config.max_positions),
            doc_stride=self.task.doc_stride,
            max_question_tokens=self.task.max_question_tokens,
            num_token_types=config.num_token_types,
            mark_shared=self.task.marks_shared,
            frame=self.task.frame(self.tokenizer),
        )

    def _best(self, windows: QuestionWindows, rows: range, outputs: Sequence[WindowOutput], text: str) -> ReadPassage:
        """Return the best spans of a passage, none of which goes on in another paragraph."""
        found = question_spans(windows, rows, outputs, self.task.span_rule)
        passage = windows.passage(rows.start)
        spans = (
            ReadSpan(*characters_of(passage, int(first), int(last), align_to_words=False), float(worth))
            for first, last, _, worth in found.spans_K4
        )
        within = (span for span in spans if not _PARAGRAPH_END.search(text, span.start, span.end))
        return ReadPassage(tuple(itertools.islice(within, KEPT)), float(found.null_score))
