"""All that changes from step to step and decides how a run goes on.

It is written into every checkpoint, under the checkpoint's manifest, so that a resumed run decides by numbers whose
checksums were compared and never by the log.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from spanwise.runtime.files import JsonObject
from spanwise.training.step import StepSums


@runtime_checkable
class RemembersEvaluations(Protocol):
    """An evaluation that decides by what it measured before (the best score, how long ago it was).

    `memory` is a record that fits into JSON; the loop keeps it in every checkpoint and sets it when a run goes on.
    """

    memory: JsonObject

    def recall(self, evaluations: Sequence[JsonObject]) -> None:
        """Make the memory anew from all evaluations so far, for a checkpoint of an earlier version that has none."""
        ...


@dataclass
class RunState:
    """The numbers of a run after `step` updates."""

    step: int = 0
    tokens: int = 0  # real ones seen
    seconds: float = 0.0  # of wall-clock time, earlier parts of a resumed run included
    evaluated_step: int | None = None
    evaluation: JsonObject = field(default_factory=dict)
    first_evaluation: JsonObject = field(default_factory=dict)
    last_losses: dict[str, float] = field(default_factory=dict)
    since_log: StepSums = field(default_factory=StepSums)
    logged: int = 0  # lines of metrics.jsonl

    def to_record(self) -> JsonObject:
        """Return the state as a checkpoint keeps it."""
        return dataclasses.asdict(self)

    @classmethod
    def from_record(cls, record: JsonObject) -> RunState:
        """Read the state of a checkpoint; values that an earlier version did not keep have their defaults."""
        return cls(**{**record, "since_log": StepSums(**record["since_log"])})
