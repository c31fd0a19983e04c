"""The result of adapting the model that ships, as values: result.json holds them, and the page is a function of them.

Columns of the measures: "unigram" and "bigram" count words, "lexical" answers by shared words, "control" has random
weights, "init" is the model as it ships, and "trained" is the model adapted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from spanwise.pretraining.comparison import Measure
from spanwise.quickstart.record import AnswerRecord, FilledRecord, RunRecord
from spanwise.quickstart.texts import Language


@dataclass(frozen=True, kw_only=True)
class TextRecord:
    """The text that was adapted to, and the part that was kept out of everything but the measures."""

    source: Literal["bundled", "files"]
    bundle: Language  # of the model and of the bundled questions
    num_documents: int  # to learn from
    num_characters: int
    num_valid_documents: int
    num_valid_tokens: int
    is_cut: bool
    notes: Sequence[str] = ()  # what to expect of a text like this


@dataclass(frozen=True, kw_only=True)
class AdaptationFacts:
    """How the adaptation went (adaptation.json has all of it)."""

    start: str
    is_adapted: bool  # False: no step was better, or none was made, so the start was kept
    kept_step: int
    kept_share: float = 1.0  # of the way from the start to the weights of that step
    num_steps: int
    num_tokens: int
    num_own_tokens: int  # of the text that was adapted to
    general_before: float  # nats on general text, by the judge of the adaptation
    general_after: float


@dataclass(frozen=True, kw_only=True)
class QuestionFacts:
    """The questions with known answers, and how rightly they were answered."""

    of_text: bool  # whether they are about the text that was adapted to
    num_questions: int
    num_passages: int
    measures: Sequence[Measure]
    answering: str  # the weights that answer "before"


@dataclass(frozen=True, kw_only=True)
class TwoAnswers:
    """The answers to one question before and after."""

    before: AnswerRecord
    after: AnswerRecord


@dataclass(frozen=True, kw_only=True)
class AdaptedRecord(RunRecord):
    """Everything that result.json holds of an adaptation."""

    text: TextRecord
    adaptation: AdaptationFacts
    filled: Sequence[FilledRecord]  # ways "before", "after" and "control"
    questions: QuestionFacts
    answers: Sequence[TwoAnswers]
    way: Literal["adapted"] = "adapted"
