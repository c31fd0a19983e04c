"""The figures that an adaptation leaves behind (adaptation.json); its report is written from them."""

from dataclasses import dataclass, field
from typing import Literal

from spanwise.adapt.measure import Losses, Unit, change
from spanwise.adapt.objectives import Chosen
from spanwise.adapt.proof import Proof
from spanwise.adapt.texts import TextFacts
from spanwise.training.statistics import standard_error

RECORD_NAME = "adaptation.json"
RECORD_VERSION = 1
LEAST_GAIN = 0.002  # of the start's own loss: less is no win, however sure it is
Outcome = Literal["adapted", "unchanged"]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A loss on held-out text in nats, with its standard error over documents and the loss of each objective."""

    loss: float
    standard_error: float
    objectives: dict[str, float]
    num_clusters: int  # documents, short ones together


@dataclass(frozen=True, kw_only=True)
class Check:
    """One measurement in the course of the run, against the start."""

    step: int
    own: float
    general: float
    gain: float  # on own text, in nats; above zero is better
    low: float  # its 95 % interval, paired over documents
    high: float
    general_rise: float  # of the general loss, as a share of what it was
    is_within_bound: bool
    is_kept: bool  # better than all before it, within the bound
    share: float = 1.0  # of the way from the start to the weights of the step


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One model on both held-out texts; the start is measured with its own vocabulary."""

    own: Figure
    general: Figure


@dataclass(frozen=True, kw_only=True)
class AdaptationRecord:
    """Everything that was won and lost. Losses are nats per `unit`, on text that no step has seen.

    The kept step was chosen by the same held-out text that its figures are of, out of as many as there are checks.
    """

    version: int = RECORD_VERSION
    outcome: Outcome
    start: str
    texts: list[str]
    general_text: str
    objective: Chosen
    fresh_heads: list[str]  # taught first, with the encoder still; "before" is measured after it
    unit: Unit
    before: Measurement
    after: Measurement
    checks: list[Check]
    kept_step: int  # 0: the start
    num_steps: int
    num_tokens: int
    seconds: float
    heads_seconds: float
    learning_rate: float
    replay_share: float
    general_bound: float
    new_pieces: list[str]
    seed: int
    own_text: TextFacts
    general_facts: TextFacts
    final: str
    tasks: list[str] = field(default_factory=list)  # of the start, carried over without a step
    notes: list[str] = field(default_factory=list)
    is_unjudged: bool = False  # the start was made for something of which no loss here tells
    proof: Proof | None = None  # by labels; where it is not won, the start is kept though `checks` kept other weights

    @property
    def kept(self) -> Check | None:
        """The check whose weights were the best; None where the start was. Labels may have put the start back after it
        (`outcome`)."""
        return next((check for check in reversed(self.checks) if check.is_kept), None)


def figure_of(losses: Losses, unit: Unit) -> Figure:
    """Sum up losses by cluster."""
    return Figure(
        loss=losses.mean(unit),
        standard_error=standard_error(losses.residuals(unit)),
        objectives=losses.parts(unit),
        num_clusters=len(losses.characters),
    )


def check_of(
    step: int,
    before: dict[str, Losses],
    now: dict[str, Losses],
    unit: Unit,
    *,
    bound: float,
    best: float | None,
    share: float = 1.0,
) -> Check:
    """Compare a measurement with the start; `best` is the lowest own loss that was kept before."""
    gain = change(before["own"], now["own"], unit)
    own, general, general_before = now["own"].mean(unit), now["general"].mean(unit), before["general"].mean(unit)
    rise = general / general_before - 1.0
    is_within = rise <= bound
    is_better = gain.low > 0 and gain.value >= LEAST_GAIN * (own + gain.value) and (best is None or own < best)
    return Check(
        step=step,
        own=own,
        general=general,
        gain=gain.value,
        low=gain.low,
        high=gain.high,
        general_rise=rise,
        is_within_bound=is_within,
        is_kept=is_within and is_better,
        share=share,
    )
