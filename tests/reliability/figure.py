"""What a promise was found to be: how often it was tried, and everything that broke it."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Figure:
    """`tried` cases of one promise; `failures` says of each that broke it what happened."""

    promise: str
    tried: int = 0
    failures: list[str] = field(default_factory=list)
    facts: dict[str, object] = field(default_factory=dict)

    def check(self, holds: bool, what: str) -> None:
        """Count a case, and keep what broke it."""
        self.tried += 1
        if not holds:
            self.failures.append(what)

    def line(self, seed: int, seconds: float) -> str:
        """One line of JSON, with the processor time that it took."""
        record = {
            "promise": self.promise, "tried": self.tried, "failed": len(self.failures), **self.facts, "seed": seed,
            "cpu_seconds": round(seconds, 1), "failures": self.failures[:10],
        }  # fmt: skip
        return json.dumps(record)


def measured(check: Callable[[], Figure]) -> tuple[Figure, float]:
    """A figure and its processor time, that of child processes that were waited for included."""
    before = cpu_seconds()
    return check(), cpu_seconds() - before


def cpu_seconds() -> float:
    """Processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])
