"""Keeps questions whose answer a fine-tuned model finds by itself: what it cannot find is often no question.

Source: Alberti et al. 2019 ("roundtrip consistency") and Puri et al. 2020 keep made questions that a reader answers as
they were made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanwise.errors import ConfigError
from spanwise.questions.document import Made
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.evaluate import answers_of
from spanwise.tasks.qa.data import as_data
from spanwise.tasks.qa.score import metric_for
from spanwise.text.corpus import Document

BATCH = 512  # questions asked at once
Questions = tuple[Document, list[Made]]


@dataclass(kw_only=True)
class AnswerFilter:
    """`min_f1` is the F1 from which an answer counts as found, from 0 to 100; 100 asks for the answer itself."""

    model: str | Path
    min_f1: float = 100.0
    language: str = "en"
    num_dropped: int = 0

    def __post_init__(self) -> None:
        """Raises: ConfigError for a bound outside 0 to 100; CheckpointError for a model without a head for "qa"."""
        if not 0 <= self.min_f1 <= 100:
            raise ConfigError(f"min_f1={self.min_f1}: an F1 from 0 to 100 was expected.")
        self._loaded = load_task_model(self.model, "qa", device=None)

    def kept(self, documents: Iterable[Questions]) -> Iterator[Questions]:
        """Give the documents with the questions that are kept, in order. Questions without an answer stay as they are:
        a model that answers them is what they are for."""
        held: list[Questions] = []
        for questions in documents:
            held.append(questions)
            if sum(len(made) for _, made in held) >= BATCH:
                yield from self._keep(held)
                held = []
        yield from self._keep(held)

    def _keep(self, documents: Sequence[Questions]) -> Iterator[Questions]:
        asked = [made for _, questions in documents for made in questions if made.start >= 0]
        found = self._is_found(asked) if asked else {}
        for document, questions in documents:
            left = [made for made in questions if found.get(made.id, True)]
            self.num_dropped += len(questions) - len(left)
            yield document, left

    def _is_found(self, asked: Sequence[Made]) -> dict[str, bool]:
        metric = metric_for("", "korquad" if self.language == "ko" else "squad")
        data = as_data([(made.question, made.passage.text) for made in asked])
        answers = answers_of(self._loaded, data, "auto").best()
        found = {}
        for number, made in enumerate(asked):
            gold, guess = metric.normalize(made.answer), metric.normalize(answers[str(number)])
            found[made.id] = 100 * metric.f1(gold, guess, empty_may_match=False) >= self.min_f1 - 1e-9
        return found
