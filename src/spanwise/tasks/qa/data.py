"""Questions on passages in memory, whatever file they came from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """A gold answer: `context[start:start + len(text)] == text`. `start` is -1 where the file need not give it."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Question:
    """One question on one paragraph; no answers means: known to have none (or read for prediction).

    The first answer is the one that `task.gold="first"` learns from.
    """

    id: str
    text: str
    paragraph: int  # index into `SquadData.contexts`
    answers: tuple[Answer, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SquadData:
    """The paragraphs and questions of one file, in file order."""

    source: str
    version: str  # what the file calls itself, such as "v2.0", "KorQuAD_v1.0_dev" or MRQA's name of the data set
    contexts: tuple[str, ...]
    titles: tuple[str, ...]  # one per paragraph
    questions: tuple[Question, ...]
    has_unanswerable: bool
    num_moved_answers: int = 0  # answer offsets corrected under `errors="repair"`
    num_dropped_answers: int = 0  # answers found nowhere in their paragraph

    def context_of(self, question: Question) -> str:
        return self.contexts[question.paragraph]
