"""The same fine-tuning from several seeds: mean and deviation of each score.

One run says little where the data is small: heads, order and dropout alone move scores by points.
"""

import dataclasses
import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanwise.errors import ConfigError
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.progress import RunLog
from spanwise.tasks.base import numbers_of
from spanwise.tasks.run import FinetuningResult, finetune

SUMMARY = "seeds.json"


@dataclass(frozen=True)
class Spread:
    """One score over the seeds: its mean, its deviation (of a sample: n - 1), and the value of each seed."""

    mean: float
    deviation: float
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class SeedsResult:
    """The scores by name, the folder of the run with the best main score, and the runs in the order of the seeds."""

    scores: dict[str, Spread]
    best: Path
    runs: tuple[FinetuningResult, ...]

    def records(self) -> dict[str, dict[str, object]]:
        """Return the scores as JSON has them."""
        return {name: dataclasses.asdict(score) for name, score in self.scores.items()}


def finetune_seeds(
    task_name: str,
    num_seeds: int,
    *,
    out: str | Path,
    overrides: Sequence[str] = (),
    dev: str | Path | None = None,
    resume: bool = False,
    make_log: Callable[[Path], RunLog] = RunLog,
    **options: Any,
) -> SeedsResult:
    """Run `finetune` with the seeds 0 to n - 1 into `out/seed-0`, ... and write `out/seeds.json`.

    `make_log` gives the log of a run folder; all other options are those of `finetune`. With
    `resume` whole runs are kept, and started ones go on.
    Raises: ConfigError without dev data, for fewer than two seeds, or a seed among the overrides; and as `finetune`.
    """
    if num_seeds < 2:
        raise ConfigError(f"--seeds {num_seeds}: a deviation needs 2 or more.")
    if dev is None:
        raise ConfigError("several seeds are compared by their scores on dev data; give --dev FILE.")
    if any(assignment.partition("=")[0].strip() == "training.seed" for assignment in overrides):
        raise ConfigError("training.seed and --seeds contradict each other; leave one of them out.")
    runs = []
    for seed in range(num_seeds):
        folder = Path(out) / f"seed-{seed}"
        started = resume and folder.exists()
        changes = [*overrides, f"training.seed={seed}"]
        log = make_log(folder)
        log.say(f"Seed {seed} of {num_seeds}:")
        runs.append(finetune(task_name, out=folder, overrides=changes, dev=dev, resume=started, log=log, **options))
    numbers = [numbers_of(run.scores) for run in runs]
    main = runs[0].task.main_score
    scores = {
        name: spread([found[name] for found in numbers]) for name in numbers[0] if all(name in f for f in numbers)
    }
    best = max(runs, key=lambda run: numbers_of(run.scores)[main])  # of equal ones the first
    result = SeedsResult(scores=scores, best=best.final, runs=tuple(runs))
    content = {"task": task_name, "num_seeds": num_seeds, "scores": result.records(), "best": str(best.final)}
    write_text_atomic(Path(out) / SUMMARY, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return result


def spread(values: Sequence[float]) -> Spread:
    """Return mean and deviation of values, and the values."""
    return Spread(statistics.fmean(values), statistics.stdev(values), tuple(values))
