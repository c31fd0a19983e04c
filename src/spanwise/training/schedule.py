"""The learning rate as a pure function of the step and the plan: no scheduler object, nothing to save.

Steps count from 1. Warm-up rises in a straight line from `peak / warmup_steps` at step 1 to the peak; then the chosen
shape falls, and the last step has rate 0 (`constant` stays at the peak). A plan may be revised while training runs
(a budget in seconds): progress then goes on from where it stands with another slope, so the rate never jumps.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Shape = Literal["linear", "cosine", "constant"]


@dataclass(frozen=True, kw_only=True)
class PlanLine:
    """From the step after `step` on, the run is expected to have `total_steps` steps."""

    step: int
    total_steps: int
    reason: str


def progress(step: int, lines: Sequence[PlanLine]) -> float:
    """The part of the run that is done after `step` steps, 0 to 1: straight between revisions, 1 at the last step."""
    done, at = 0.0, 0
    for index, line in enumerate(lines):
        until = lines[index + 1].step if index + 1 < len(lines) else step
        until = min(until, step)
        remaining = line.total_steps - at
        if until > at:
            done = 1.0 if until >= line.total_steps else done + (1.0 - done) * ((until - at) / remaining)
            at = until
        if at >= step:
            break
    return done


def learning_rate(step: int, lines: Sequence[PlanLine], *, peak: float, warmup: float, shape: Shape) -> float:
    """The rate of update number `step` (1 is the first).

    `warmup` is a share of the run where it is below 1, else a number of steps.
    """
    known = [line for line in lines if line.step < step]  # a later revision never changes what was done
    if len(known) == 1:  # exact integers: step 1 is peak / warmup_steps to the last bit
        total = known[0].total_steps
        return peak * _factor(step, total, round(warmup * total) if warmup < 1 else int(warmup), shape)
    done = progress(step, known)
    if warmup >= 1:
        if step <= warmup:
            return peak * step / warmup
        warmup = progress(int(warmup), known)  # no revision after it moves the place where the fall begins
    if done < warmup:
        return peak * done / warmup
    return peak * _fall((done - warmup) / (1.0 - warmup) if warmup < 1 else 1.0, shape)


def _factor(step: int, total: int, warmup_steps: int, shape: Shape) -> float:
    if step <= warmup_steps:
        return step / warmup_steps
    if total == 1:
        return 1.0  # a run of a single step would otherwise learn nothing
    return _fall((step - warmup_steps) / max(1, total - warmup_steps), shape)


def _fall(done: float, shape: Shape) -> float:
    done = min(1.0, max(0.0, done))
    if shape == "constant":
        return 1.0
    return 1.0 - done if shape == "linear" else 0.5 * (1.0 + math.cos(math.pi * done)) if done < 1 else 0.0
