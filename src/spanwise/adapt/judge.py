"""The judge of a run: measures own and general text, and keeps the best weights that lose nothing in general.

The start itself is kept first. Weights take its place where the loss on a person's held-out text has fallen by more
than its error (the 95 % interval, paired over documents), lies below all kept before, and the general loss has not
risen beyond the bound. So what is left at the end is better by a margin that chance does not explain, or the start.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from spanwise.adapt.measure import HeldOutText, Losses, Unit
from spanwise.adapt.record import Check, check_of
from spanwise.errors import CheckpointError
from spanwise.pretraining.ready import Ready
from spanwise.runtime.files import JsonObject, atomic_folder

Measured = dict[str, Losses]  # "own" and "general"
SaveModel = Callable[[Path, Check | None], None]  # into an empty folder, with the check that decided


class Judge:
    """An evaluation for the training loop. `memory` is what it decided by so far; checkpoints keep it.

    `before` measures a start whose vocabulary is another than the run's; None measures the run's own first weights.
    `save` writes the start (no check) or the weights as they are.
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
    ) -> None:
        self._ready, self._texts, self._best = ready, texts, best
        self._unit, self._bound, self._device = unit, bound, device
        self._measure_before, self._save = before, save
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
        else:
            self._judge(now)
        numbers = {f"{name}_loss": losses.mean(self._unit) for name, losses in now.items()}
        for name, losses in now.items():
            numbers |= {f"{name}_{part}_loss": value for part, value in losses.parts(self._unit).items()}
        return numbers

    def measure(self, model: Any) -> Measured:
        """The losses of a model on both texts."""
        precision = self._ready.recipe.training.precision
        return {name: text.losses(model, self._device, precision) for name, text in self._texts.items()}

    def _judge(self, now: Measured) -> None:
        check = check_of(self.step, self.before, now, self._unit, bound=self._bound, best=self.memory["best"])
        memory = {**self.memory, "checks": [*self.memory["checks"], asdict(check)]}
        if check.is_kept:
            memory |= {"best": check.own, "after": {name: asdict(losses) for name, losses in now.items()}}
            self._keep(check)
        self.memory = memory

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
