"""Read a run folder: its recipe, its curves, where its time went. A run in progress may be read too."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from spanwise.errors import DataError
from spanwise.runtime.files import RECIPE_NAME
from spanwise.runtime.json_text import object_or_empty
from spanwise.runtime.progress import METRICS_NAME, read_metrics
from spanwise.training.plan import PLAN_NAME

MASKS_NAME = "masks.json"


Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """One run, read from its folder."""

    name: str
    path: Path
    steps: list[Json]  # the log lines of training
    evaluations: list[Json]  # {"step", "evaluation", ...}
    recipe: Json = field(default_factory=dict)
    masks: Json = field(default_factory=dict)

    @property
    def loss_names(self) -> list[str]:
        """Names of the losses, in the order in which they are logged."""
        return list(dict.fromkeys(name for record in self.steps for name in record.get("losses", {})))

    def curve(self, name: str) -> tuple[list[float], list[float]]:
        """Return the real tokens read and the training loss there."""
        rows = [(r["tokens"], r["losses"][name]) for r in self.steps if r.get("losses", {}).get(name) is not None]
        return [x for x, _ in rows], [y for _, y in rows]

    def evaluation_curve(self, key: str) -> tuple[list[float], list[float]]:
        """Return the real tokens read and one number of the evaluations there; between two logged steps the tokens are
        counted in proportion."""
        logged = {0: 0, **{record["step"]: record["tokens"] for record in self.steps}}
        steps = sorted(logged)
        found = [(record["step"], record["evaluation"].get(key)) for record in self.evaluations]
        rows = [(step, value) for step, value in found if isinstance(value, int | float)]
        tokens = np.interp([step for step, _ in rows], steps, [logged[step] for step in steps])
        return [round(x) for x in tokens.tolist()], [y for _, y in rows]

    @property
    def seconds_by_section(self) -> dict[str, float]:
        """Seconds in data, forward, backward, ... over the whole run."""
        total: dict[str, float] = {}
        for record in self.steps:
            for name, seconds in (record.get("time") or {}).items():
                if name != "total" and seconds:
                    total[name] = total.get(name, 0.0) + seconds
        return total

    @property
    def tokens_per_second(self) -> float | None:
        """Real tokens per second: the median of the log lines."""
        speeds = sorted(r["tokens_per_second"] for r in self.steps if r.get("tokens_per_second"))
        return speeds[len(speeds) // 2] if speeds else None


def read_run(folder: str | Path, name: str | None = None) -> RunRecord:
    """Read a run folder. Raises: DataError where it holds no log."""
    path = Path(folder)
    if not (path / METRICS_NAME).is_file():
        if (path / PLAN_NAME).is_file():
            raise DataError(f"the run in {path} has logged no step yet; ask again later, or go on with it (--resume).")
        raise DataError(f"{path} holds no {METRICS_NAME}; give the folder of a run, as named by --out.")
    records = read_metrics(path / METRICS_NAME)
    return RunRecord(
        name=name or path.resolve().name,
        path=path,
        steps=[record for record in records if record.keys() >= {"step", "tokens", "losses"}],
        evaluations=[record for record in records if record.keys() >= {"step", "evaluation"}],
        recipe=object_or_empty(path / RECIPE_NAME),
        masks=object_or_empty(path / MASKS_NAME),
    )


def read_runs(folders: Iterable[str | Path]) -> list[RunRecord]:
    """Read several runs; folders of the same name are told apart by their parents. Raises: DataError."""
    paths = [Path(folder).resolve() for folder in folders]
    names = [path.name for path in paths]
    while len(set(names)) < len(set(paths)):
        names = [
            name if names.count(name) == 1 else "/".join(path.parts[-1 - len(Path(name).parts) :])
            for name, path in zip(names, paths, strict=True)
        ]
    return [read_run(path, name) for path, name in zip(paths, names, strict=True)]
