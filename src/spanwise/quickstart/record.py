"""The result of a quickstart as values: result.json holds them field by field, and the page is a function of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanwise.pretraining.comparison import Measure
from spanwise.quickstart.clock import Stage
from spanwise.quickstart.texts import Language
from spanwise.reporting.spans import Run

FORMAT = 2  # of result.json: what a measure is compared with has names since 2


@dataclass(frozen=True, kw_only=True)
class CorpusRecord:
    """The text that was read, and the part that was kept for measuring."""

    source: str  # "bundled" or "files"
    bundle: Language  # of the questions
    language: str | None = None  # that a person's own text seems to be in: "en", "ko" or ""
    num_documents: int
    num_tokens: int
    num_valid_documents: int
    num_valid_tokens: int
    unknown_share: float
    is_cut: bool
    is_vocabulary_learned: bool = True


@dataclass(frozen=True, kw_only=True)
class MasksRecord:
    """A paragraph as the network saw it, and the hidden stretches of other paragraphs."""

    runs: Sequence[Run]
    num_hidden: int
    num_tokens: int
    num_spans: int
    lengths: Sequence[int] = ()
    spans: Sequence[tuple[int, int, int]] = ()  # sequence, start, end


@dataclass(frozen=True, kw_only=True)
class PretrainingRecord:
    """How long was trained, and both learning curves: tokens read under "tokens", losses under their names."""

    num_steps: int
    num_tokens: int
    num_epochs: float
    tokens_per_second: float | None
    curve: Mapping[str, Sequence[float]]
    valid_curve: Mapping[str, Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class FilledPlace:
    """One hidden token and the likeliest tokens for it with their chances, by each way of guessing."""

    truth: str
    guesses: Mapping[str, Sequence[tuple[str, float]]]


@dataclass(frozen=True, kw_only=True)
class FilledRecord:
    """A sentence with gaps, and what is put there."""

    runs: Sequence[Run]
    places: Sequence[FilledPlace]

    @property
    def ways(self) -> list[str]:
        """The ways of guessing that there are, in the order of columns."""
        return [way for way in ("before", "after", "mlm", "sbo", "both", "control") if way in self.places[0].guesses]


@dataclass(frozen=True, kw_only=True)
class ModelRecord:
    """The size of the network."""

    recipe: str
    num_layers: int
    hidden_size: int
    num_heads: int
    vocab_size: int
    num_parameters: int


@dataclass(frozen=True, kw_only=True)
class QuestionsRecord:
    """The questions that were learned and asked, and the scores."""

    num_train_questions: int
    num_steps: int
    num_dev_questions: int
    num_scored_questions: int
    num_dev_articles: int
    measures: Sequence[Measure]
    answered_by: str = "trained"
    shipped: str | None = None


@dataclass(frozen=True, kw_only=True)
class AnswerRecord:
    """A question, and the answer marked in its paragraph; `gold` is empty for a person's own question."""

    question: str
    context: str
    start: int
    end: int
    answer: str
    score: float
    gold: Sequence[str]
    exact: bool = False


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """What either way of the quickstart writes down."""

    num_hidden: int
    measures: Sequence[Measure]
    commands: Sequence[tuple[str, str]]  # command, what it does
    spanwise: str
    language: Language  # of the page
    budget_seconds: float
    machine: Mapping[str, str | int]
    total_seconds: float
    stages: Sequence[Stage]
    format: int = FORMAT


@dataclass(frozen=True, kw_only=True)
class QuickstartRecord(RunRecord):
    """Everything that result.json holds of a model learned from nothing."""

    corpus: CorpusRecord
    masks: MasksRecord
    pretraining: PretrainingRecord
    by_distance: Mapping[str, Sequence[Measure]]  # by head
    filled: FilledRecord
    model: ModelRecord
    qa: QuestionsRecord
    answers: Sequence[AnswerRecord]
