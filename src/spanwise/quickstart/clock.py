"""Split a budget of minutes into stages, and keep how long each stage took."""

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

# Shares of the time that is left once the text is prepared. Fine-tuning is paid once a column: control, trained, init.
MEASURE_SHARE = 0.06
SCORE_SHARE = 0.08
FINETUNE_SHARE = 0.14
RESERVE_SECONDS = 2.0  # writing the page and saving models
RESERVE_SHARE = 0.02  # of the budget: machines are not even
LEAST_SECONDS = 1.0  # a stage gets at least this, even where the budget is already spent


@dataclass(frozen=True, kw_only=True)
class Stage:
    """How long one stage took."""

    name: str
    seconds: float


class StageClock:
    """Counts the seconds of named stages against one deadline."""

    def __init__(self, budget: float, began: float | None = None, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self.began = now() if began is None else began
        self.budget = budget
        self.seconds: dict[str, float] = {}

    @property
    def elapsed(self) -> float:
        """Seconds since the clock began."""
        return self._now() - self.began

    @property
    def left(self) -> float:
        """Seconds that stages may still use; below zero where the budget is overdrawn."""
        return self.budget - self.elapsed - RESERVE_SECONDS - RESERVE_SHARE * self.budget

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Attribute the time inside the block to a stage; a stage entered twice is added up."""
        began = self._now()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + self._now() - began

    def stages(self) -> list[Stage]:
        """Return the stages in the order in which they began."""
        return [Stage(name=name, seconds=round(seconds, 2)) for name, seconds in self.seconds.items()]


def share(left: float, name: str, num_columns: int, *, done: Collection[str] = ()) -> float:
    """Return the seconds for a stage ("pretrain", "measure", "score", or "finetune" for one column) out of `left`.

    `left` is what is left once the stages of `done` have ended: what they saved or overdrew is shared by the others.
    """
    parts = {"measure": MEASURE_SHARE, "score": SCORE_SHARE, "finetune": FINETUNE_SHARE * num_columns}
    parts["pretrain"] = 1.0 - sum(parts.values())
    seconds = share_of(left, parts, name, done=done) / (num_columns if name == "finetune" else 1)
    return max(LEAST_SECONDS, seconds)


def share_of(left: float, parts: Mapping[str, float], name: str, *, done: Collection[str] = ()) -> float:
    """Return the seconds for the stage `name` of `parts` out of what is left once the stages of `done` have ended."""
    rest = sum(part for stage, part in parts.items() if stage not in done)
    return max(LEAST_SECONDS, left * parts[name] / rest)
