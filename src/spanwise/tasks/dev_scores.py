"""Dev data scored in the course of a run: the best evaluation kept, and the run ended when no better one comes.

What was scored before is read from the run's metrics.jsonl, so a resumed run decides as one that was never stopped.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spanwise.errors import ConfigError
from spanwise.runtime.device import Precision
from spanwise.runtime.files import MANIFEST_NAME, atomic_folder
from spanwise.runtime.progress import read_metrics
from spanwise.tasks.base import numbers_of
from spanwise.tasks.model import TaskModel
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.text.tokenizers import Tokenizer

BEST = "best"  # folder of the best weights so far, inside the run folder


def check_dev_options(recipe: FinetuningRecipe, *, has_dev: bool) -> None:
    """Raises: ConfigError where what the recipe asks for needs dev data or evaluations that it does not have."""
    asked = [name for name, on in (("select=best", recipe.select == "best"), ("patience", recipe.patience)) if on]
    if asked and not has_dev:
        raise ConfigError(f"{asked[0]} decides by the score on dev data; give --dev FILE.")
    if asked and recipe.training.eval_every is None:
        raise ConfigError(f"{asked[0]} needs evaluations between the steps; set training.eval_every=STEPS.")


@dataclass
class DevScorer:
    """Scores the model on dev data whenever asked and remembers the last answers, with what was tuned on them."""

    model: TaskModel
    data: Any
    tokenizer: Tokenizer
    precision: Precision
    metrics: Path  # of the run
    recipe: FinetuningRecipe
    scores: dict[str, Any] = field(default_factory=dict)
    predictions: Any = None
    num_worse: int = 0  # evaluations since the best one

    def __post_init__(self) -> None:
        config = self.model.encoder.config
        self.features = self.model.task.featurize(self.data, self.tokenizer, config, training=False)
        self.save_best: Callable[[], None] | None = None

    def __call__(self) -> dict[str, float]:
        self._score()
        found = {f"dev_{name}": value for name, value in numbers_of(self.scores).items()}
        name = f"dev_{self.model.task.main_score}"
        now = found.get(name, 0.0)
        before = [record["evaluation"].get(name) for record in self._records()]
        best = max((value for value in before if value is not None), default=None)
        if best is None or now >= best:  # of equal ones the later: it has seen more
            self.num_worse = 0
            if self.save_best is not None and self.recipe.select == "best":
                self.save_best()
        else:
            self.num_worse = 1 + before[::-1].index(best)
        return found

    def _score(self) -> None:
        model = self.model
        outputs = model.outputs(self.features, precision=self.precision)
        self.predictions = model.task.decode(self.data, self.features, outputs)
        model.task = model.task.tune(self.data, self.predictions)
        self.scores = model.task.score(self.data, self.predictions)

    def _records(self) -> list[dict[str, Any]]:
        if not self.metrics.exists():  # the first evaluation comes before the first line
            return []
        return [record for record in read_metrics(self.metrics) if "evaluation" in record]

    def ensure(self) -> None:
        """Score now, unless a score is there: a run that is resumed at its end has none yet."""
        if self.predictions is None:
            self._score()

    def stop_early(self) -> str | None:
        """Why the run should end, if it should."""
        patience = self.recipe.patience
        if patience is None or self.num_worse < patience:
            return None
        return f"{self.num_worse} evaluations without a better {self.model.task.main_score}"


def put_best_in_place(run: Path, final: Path) -> bool:
    """Make the best weights the run's final ones; False where they are already."""
    best = run / BEST
    if not best.exists() or _same(best, final):
        return False
    with atomic_folder(final, existing="replace") as temporary:
        shutil.copytree(best, temporary, dirs_exist_ok=True, ignore=shutil.ignore_patterns(MANIFEST_NAME))
    return True


def _same(one: Path, other: Path) -> bool:
    names = ("model.safetensors", "spanwise.json")
    return all((other / name).exists() and (one / name).read_bytes() == (other / name).read_bytes() for name in names)
