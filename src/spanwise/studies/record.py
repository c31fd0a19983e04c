"""The findings of a study as values: result.json holds them field by field, tables and page are drawn from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spanwise.studies.budget import Budget
from spanwise.studies.probes import Figure
from spanwise.studies.statistics import SeedDifference, SeedMean


@dataclass(frozen=True, kw_only=True)
class RunCosts:
    """How one run stands and what it has cost, a first phase included; numbers are None until it has logged a step."""

    state: str  # "new", "begun", "finished" or "diverged"
    why: str = ""  # it diverged
    steps: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    loss: float | None = None
    flops: float | None = None
    tokens_per_second: float | None = None
    probe_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ArmRecord:
    """One arm: its recipe, what it differs in from the first arm, and its runs by seed."""

    recipe: Mapping[str, object]
    differs: Sequence[tuple[str, object, object]]  # path, value of the first arm, value of this one
    parameters: int
    tokens: int
    flops_per_token: float
    runs: Mapping[str, RunCosts]
    first: Mapping[str, object] | None = None  # share, tokens and recipe of its first phase


@dataclass(frozen=True, kw_only=True)
class Column(SeedMean):
    """One figure of one arm, or of a control: the value of each seed and their mean."""

    values: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class PairDifference(SeedDifference):
    """One figure of an arm minus that of another arm, or of the control."""

    ours: str
    other: str


@dataclass(frozen=True, kw_only=True)
class MeasuredFigure(Figure):
    """One figure of a probe for all models."""

    probe: str
    baselines: Mapping[str, float]
    controls: Mapping[str, Column]  # by the arm that the control has its encoder from
    arms: Mapping[str, Column]
    differences: Sequence[PairDifference]


@dataclass(frozen=True, kw_only=True)
class Points:
    """A curve: tokens read, and a mean over seeds."""

    tokens: Sequence[float] = ()
    mean: Sequence[float] = ()


@dataclass(frozen=True, kw_only=True)
class Curve(Points):
    """The training loss of an arm, and its loss on held-out text."""

    num_seeds: int
    held_out: Points


@dataclass(frozen=True, kw_only=True)
class TextRecord:
    """The store that all arms read."""

    store: str
    sha256: str
    num_tokens: int
    num_documents: int
    vocabulary: int
    valid: str | None


@dataclass(frozen=True, kw_only=True)
class StudyRecord:
    """Everything that the tables of a study are drawn from."""

    study: str
    question: str
    notes: Sequence[str]
    command: str
    seeds: Sequence[int]
    budget: Budget
    control: str
    text: TextRecord
    machine: Mapping[str, str | int]
    arms: Mapping[str, ArmRecord]
    control_of: Mapping[str, str]  # for every arm the one whose control is its own; {} without control
    figures: Sequence[MeasuredFigure]
    curves: Mapping[str, Mapping[str, Curve]]  # by loss and arm
    probes: Mapping[str, Mapping[str, object]]
    probe_files: Mapping[str, Mapping[str, Mapping[str, str]]]  # by probe and file: its name and sha256
    measured_where: Sequence[Mapping[str, str]]  # devices and versions, each once
    examples: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # learned from, by probe and key of figure
    starts_from_text: Sequence[str] = field(default=())  # arms whose first weights hold counts of the text

    @property
    def diverged(self) -> list[str]:
        """The runs whose numbers went bad, as ARM-SEED."""
        return [name for name, run in self.runs if run.state == "diverged"]

    @property
    def runs(self) -> list[tuple[str, RunCosts]]:
        """All runs by name, ARM-SEED."""
        return [(f"{arm}-{seed}", run) for arm, found in self.arms.items() for seed, run in found.runs.items()]
