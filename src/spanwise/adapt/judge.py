"""The judge of a run: measures own and general text, and keeps the best weights that lose nothing in general.

The start itself is kept first. Weights take its place where the loss on a person's held-out text has fallen by more
than its error (the 95 % interval, paired over documents), lies below all kept before, and the general loss has not
risen beyond the bound. At every check weights part of the way from the start to the step's are measured too
(`mixed.py`): where the general loss has risen beyond the bound, so far that it is within, and elsewhere three quarters
of the way, which reads own text better than the whole where a short text begins to be learned by heart. So what is left
at the end is better by a margin that chance does not explain, or the start.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from spanwise.adapt.measure import HeldOutText, Losses, Unit
from spanwise.adapt.mixed import SQUARE, copied, part_of_the_way, power_of, share_within
from spanwise.adapt.record import Check, check_of
from spanwise.errors import CheckpointError
from spanwise.pretraining.ready import Ready
from spanwise.runtime.files import JsonObject, atomic_folder

Measured = dict[str, Losses]  # "own" and "general"
SaveModel = Callable[[Path, Check | None], None]  # into an empty folder, with the check that decided
FORWARD_SHARE = 1 / 3  # of a training step's time
PART = 0.75  # of the way, measured beside weights that are within the bound
FEWEST_STEPS = 3  # of a run by the clock: two are timed, and the last one ends the schedule


class TooShort(Exception):
    """The time of a run will be over before weights other than the start's can be measured."""

    def __init__(self, limit: float, used: float, needed: float) -> None:
        super().__init__(
            f"The {limit:.0f} s of this run are too few: to begin and to measure the start took {used:.1f} s here, and "
            f"{needed:.0f} s pass before any other weights can be measured."
        )
        self.used = used


@dataclass(frozen=True, kw_only=True)
class TimeLimit:
    """The wall-clock time of a run: `seconds` from the moment `began` (`time.perf_counter`)."""

    seconds: float
    began: float
    tokens_per_step: int


class Judge:
    """An evaluation for the training loop. `memory` is what it decided by so far; checkpoints keep it.

    `before` measures a start whose vocabulary is another than the run's; None measures the run's own first weights.
    `save` writes the start (no check) or the weights as they are. With a `limit` the first call raises `TooShort`, once
    the start is kept, where no time is left for the fewest steps and a measurement of what they did.
    """

    def __init__(
        self,
        ready: Ready,
        texts: Mapping[str, HeldOutText],
        best: Path,
        *,
        unit: Unit,
        bound: float,
        device: str | None,
        before: Callable[[], Measured] | None,
        save: SaveModel,
        limit: TimeLimit | None = None,
    ) -> None:
        self._ready, self._texts, self._best = ready, texts, best
        self._unit, self._bound, self._device = unit, bound, device
        self._measure_before, self._save, self._limit = before, save, limit
        self._start = copied(ready.model, "cpu")  # a run that goes on has its checkpoint's weights only later
        self._token_seconds = 0.0  # of the text measured last, forward
        self.memory: JsonObject = {}
        self.step = 0

    def __call__(self) -> Mapping[str, float]:
        """Measure the weights as they are; the first call is the start's."""
        now = self.measure(self._ready.model)
        if not self.memory:
            before = now if self._measure_before is None else self._measure_before()
            records = {name: asdict(losses) for name, losses in before.items()}
            self.memory = {"before": records, "after": records, "checks": [], "best": None}
            self._keep(None)
            self._check_time()
        else:
            self._judge(now)
        numbers = {f"{name}_loss": losses.mean(self._unit) for name, losses in now.items()}
        for name, losses in now.items():
            numbers |= {f"{name}_{part}_loss": value for part, value in losses.parts(self._unit).items()}
        return numbers

    def measure(self, model: Any) -> Measured:
        """The losses of a model on both texts."""
        precision = self._ready.recipe.training.precision
        found = {}
        for name, text in self._texts.items():
            began = time.perf_counter()
            found[name] = text.losses(model, self._device, precision)
            self._token_seconds = (time.perf_counter() - began) / max(1, text.num_tokens)
        return found

    def _check_time(self) -> None:
        """Raises: TooShort, by how fast the start was measured."""
        if self._limit is None:
            return
        measured = sum(text.num_tokens for text in self._texts.values())
        learned = FEWEST_STEPS * self._limit.tokens_per_step / FORWARD_SHARE
        used = time.perf_counter() - self._limit.began
        needed = used + (measured + learned) * self._token_seconds
        if needed > self._limit.seconds:
            raise TooShort(self._limit.seconds, used, needed)

    def _judge(self, now: Measured) -> None:
        check = self._check(now)
        share = PART if check.is_within_bound else share_within(self._bound, check.general_rise, self._power())
        if share and check.gain > 0 and not math.isnan(check.low) and self._has_time():
            with part_of_the_way(self._ready.model, self._start, share):
                self._check(self.measure(self._ready.model), share)

    def _power(self) -> float:
        """Return how the general loss rose along the way that was measured last."""
        checks = [Check(**check) for check in self.memory["checks"]]
        found = [(whole, part) for whole, part in pairwise(checks) if part.share < 1]
        return power_of(found[-1][1].share, found[-1][1].general_rise, found[-1][0].general_rise) if found else SQUARE

    def _has_time(self) -> bool:
        """Return whether one more measurement ends within the limit."""
        if self._limit is None:
            return True
        seconds = sum(text.num_tokens for text in self._texts.values()) * self._token_seconds
        return time.perf_counter() - self._limit.began + seconds < self._limit.seconds

    def _check(self, now: Measured, share: float = 1.0) -> Check:
        """Compare what was measured with the start, and keep the model's weights where they are the best so far."""
        best = self.memory["best"]
        check = check_of(self.step, self.before, now, self._unit, bound=self._bound, best=best, share=share)
        memory = {**self.memory, "checks": [*self.memory["checks"], asdict(check)]}
        if check.is_kept:
            memory |= {"best": check.own, "after": {name: asdict(losses) for name, losses in now.items()}}
            self._keep(check)
        self.memory = memory
        return check

    def keep_start(self) -> None:
        """Keep the start after all."""
        self._keep(None)

    def _keep(self, check: Check | None) -> None:
        with atomic_folder(self._best, existing="replace") as temporary:
            self._save(temporary, check)

    @property
    def before(self) -> Measured:
        """The losses of the start."""
        return {name: Losses(**losses) for name, losses in self.memory["before"].items()}

    @property
    def after(self) -> Measured:
        """The losses of what is kept."""
        return {name: Losses(**losses) for name, losses in self.memory["after"].items()}

    def recall(self, evaluations: Sequence[JsonObject]) -> None:
        """Raises: CheckpointError, as the losses of single documents are in checkpoints alone."""
        raise CheckpointError(
            f"the newest checkpoint of {self._best.parent} holds no measurements of this adaptation; start it again in "
            "a new folder."
        )
