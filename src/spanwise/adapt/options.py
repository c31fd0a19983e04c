"""What a person may choose of an adaptation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from spanwise.errors import ConfigError

ObjectiveName = Literal["auto", "spans", "mlm", "selection", "both"]
OBJECTIVES: tuple[ObjectiveName, ...] = ("auto", "spans", "mlm", "selection", "both")
NUM_CHECKS = 5  # of an adaptation, beside the measurement before its first step; each measures twice


@dataclass(frozen=True, kw_only=True)
class Length:
    """How long to train: seconds of wall-clock time or steps, one of them."""

    seconds: float | None = None
    steps: int | None = None

    def part(self, share: float) -> Length:
        """So large a part of it, one step at least."""
        if self.steps is not None:
            return Length(steps=max(1, round(self.steps * share)))
        return Length(seconds=(self.seconds or 0.0) * share)

    @property
    def options(self) -> dict[str, Any]:
        """The length as training options have it."""
        return {"max_steps": self.steps, "budget": self.seconds}


@dataclass(frozen=True, kw_only=True)
class AdaptationOptions:
    """What a person may choose. Raises: ConfigError for values that cannot work."""

    length: Length
    objective: ObjectiveName = "auto"
    replay_share: float = 0.2  # general text among what is read
    general_bound: float = 0.02  # the most that the general loss may rise, as a share of what it was
    new_pieces: int = 0  # at most
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.length.seconds is None) == (self.length.steps is None):
            raise ConfigError("give either a budget of time or a number of steps, and not both.")
        if self.length.steps is not None and self.length.steps < NUM_CHECKS:
            raise ConfigError(
                f"{self.length.steps} steps are fewer than the {NUM_CHECKS} checks among them; give more."
            )
        if not 0 <= self.replay_share < 1:
            raise ConfigError(f"replay_share {self.replay_share} is no share from 0 to below 1, such as 0.2.")
        if not 0 <= self.general_bound < 1:
            raise ConfigError(f"general_bound {self.general_bound} is no share from 0 to below 1, such as 0.02.")
        if self.new_pieces < 0:
            raise ConfigError(f"new_pieces {self.new_pieces} is below 0; give how many words may become pieces.")
