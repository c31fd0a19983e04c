"""Dev data scored in the course of a run: the best evaluation kept, and the run ended when no better one comes.

The evaluation before the first step is a figure to compare with, and no candidate where the head is fresh: one that
calls everything by one name can score above the first weights that have learned something. A model that knows the task
may well be best as it is. What was scored before is kept in the run's checkpoints, so a resumed run decides as one that
was never stopped.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from spanwise.errors import CheckpointError, ConfigError
from spanwise.runtime.device import Precision
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import BEST_NAME, atomic_folder, verify_folder
from spanwise.tasks.base import D, F, O, P, Scores, numbers_of
from spanwise.tasks.model import TaskModel
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.text.tokenizers import Tokenizer


def check_dev_options(recipe: FinetuningRecipe, *, has_dev: bool) -> None:
    """Raises: ConfigError where what the recipe asks for needs dev data or evaluations that it does not have."""
    asked = [name for name, on in (("select=best", recipe.select == "best"), ("patience", recipe.patience)) if on]
    if asked and not has_dev:
        raise ConfigError(f"{asked[0]} decides by the score on dev data; give --dev FILE.")
    if asked and recipe.training.eval_every is None:
        raise ConfigError(f"{asked[0]} needs evaluations between the steps; set training.eval_every=STEPS.")


@dataclass
class DevScorer(Generic[D, F, O, P]):
    """Scores the model on dev data whenever asked and remembers the last answers, with what was tuned on them."""

    model: TaskModel[D, F, O, P]
    data: D
    tokenizer: Tokenizer
    precision: Precision
    recipe: FinetuningRecipe
    knows_task: bool = False  # before the first step, so that its score then counts
    scores: Scores = field(default_factory=dict)
    predictions: P | None = None
    step: int = 0  # of the next evaluation; the training loop sets it
    memory: dict[str, Any] = field(default_factory=dict)  # in checkpoints: best score, its step, how many worse since

    def __post_init__(self) -> None:
        config = self.model.encoder.config
        self.features = self.model.task.featurize(self.data, self.tokenizer, config, training=False)
        self.save_best: Callable[[], None] | None = None

    def __call__(self) -> dict[str, float]:
        self._score()
        found = {f"dev_{name}": value for name, value in numbers_of(self.scores).items()}
        name = f"dev_{self.model.task.main_score}"
        if name not in found and self.model.task.main_score not in self.scores:
            scores = ", ".join(self.scores) or "none"
            raise ConfigError(
                f"{type(self.model.task).__name__} has the main_score {self.model.task.main_score!r}, and `score` "
                f"returned {scores}; name one of them."
            )
        is_best = self._takes_in(found.get(name, 0.0), self.step)
        if is_best and self.save_best is not None and self.recipe.select == "best":
            self.save_best()
        return found

    def recall(self, evaluations: Sequence[Mapping[str, Any]]) -> None:
        """Make the memory anew from all evaluations so far, each with its `step`."""
        self.memory = {}
        for evaluation in evaluations:
            score = evaluation.get(f"dev_{self.model.task.main_score}")
            if score is not None:
                self._takes_in(score, evaluation["step"])

    def _takes_in(self, score: float, step: int) -> bool:
        """Remember a score; True where it is the best so far. Of equal ones the later counts: it has seen more.

        That of step 0 gives way to the first after it, whatever that is, unless the best is kept of a model that knew
        the task.
        """
        best = self.memory.get("best")
        gives_way = self.memory.get("step") == 0 and not (self.knows_task and self.recipe.select == "best")
        is_best = best is None or gives_way or score >= best
        if is_best:
            self.memory = {"best": score, "step": step, "num_worse": 0}
        else:
            self.memory = {**self.memory, "num_worse": self.memory["num_worse"] + 1}
        return is_best

    def _score(self) -> None:
        model = self.model
        outputs = model.outputs(self.features, precision=self.precision)
        self.predictions = model.task.decode(self.data, self.features, outputs)
        model.task = model.task.tune(self.data, self.predictions)
        self.scores = model.task.score(self.data, self.predictions)

    def ensure(self) -> None:
        """Score now, unless a score is there: a run that is resumed at its end has none yet."""
        if self.predictions is None:
            self._score()

    def stop_early(self) -> str | None:
        """Return why the run should end, if it should."""
        patience, num_worse = self.recipe.patience, self.memory.get("num_worse", 0)
        if patience is None or num_worse < patience:
            return None
        return f"{num_worse} evaluations without a better {self.model.task.main_score}"


def check_best(run: Path) -> None:
    """Compare every file of the best weights so far, if there are any, with their manifest.

    Raises: CheckpointError naming the file.
    """
    best = run / BEST_NAME
    if not best.exists():
        return
    try:
        verify_folder(best)
    except CheckpointError as error:
        raise CheckpointError(
            f"{error} It holds the best weights of this run, so the run can't end with them. Restore the folder, or "
            "start a new run."
        ) from error


def put_best_in_place(run: Path, final: Path, *, was_finished: bool = False) -> bool:
    """Make the best weights the run's final ones, under the manifest that they were saved with.

    Returns False where they are already. Raises: CheckpointError where they are damaged, or gone and were needed.
    """
    best = run / BEST_NAME
    if not best.exists():
        if was_finished:  # somebody made room after the end
            return False
        raise CheckpointError(
            f"{best} is gone, which held the best weights of this run. Restore it, or start a new run."
        )
    check_best(run)
    if _same(best, final):
        return False
    with atomic_folder(final, existing="replace") as temporary:
        DISK.copy_tree(best, temporary)
        verify_folder(temporary)  # the copy itself, before it gets a name
    return True


def _same(one: Path, other: Path) -> bool:
    names = ("model.safetensors", "spanwise.json")
    return all((other / name).exists() and (one / name).read_bytes() == (other / name).read_bytes() for name in names)
