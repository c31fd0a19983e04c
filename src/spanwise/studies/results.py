"""What a study has found by now, as one record: the figures of every model, means, paired differences, curves, costs.

Plain JSON: `arms` {arm: runs {seed: state, tokens, seconds, ...}}, `figures` [a record each], `curves`, `columns`.
Nothing is computed from models here; a study that is not finished gives what there is and says what is not.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from spanwise.config import to_record
from spanwise.data.token_store import TokenStore
from spanwise.pretraining.describe import count_parameters
from spanwise.pretraining.system import outline_model
from spanwise.reporting.runs import RunRecord, read_run
from spanwise.runtime.machine import num_usable_cores
from spanwise.runtime.progress import METRICS_NAME
from spanwise.studies.folder import BASELINES, StudyFolder, read_record
from spanwise.studies.plan import StudyPlan, Unit
from spanwise.studies.probes import Figure, Probe
from spanwise.studies.statistics import SeedValues, seed_difference, seed_mean
from spanwise.studies.study import CONTROL, arm_difference

NOT_YET = "not measured yet"
NO_HEAD = "the model has no head for it"
NO_TOKEN = "there is nothing of the kind to measure: baselines lack it too"
NOT_HELD_OUT = "The held-out text is the training text itself: no figure on it is of unseen text."
NOT_FINITE = "its figure is no finite number"


def collect(plan: StudyPlan, command: str = "") -> dict[str, Any]:
    """Read everything that lies in the folder of a study."""
    study, store = plan.study, TokenStore.open(plan.data)
    return {
        "study": study.name,
        "question": study.question,
        "notes": [*study.notes, *([NOT_HELD_OUT] if plan.identity["valid"] == store.sha256 else [])],
        "command": command,
        "seeds": list(plan.seeds),
        "budget": plan.budget.record,
        "control": study.control,
        "text": {
            "store": str(plan.data),
            "sha256": store.sha256,
            "num_tokens": store.num_tokens,
            "num_documents": store.num_documents,
            "vocabulary": store.vocabulary.size,
            "valid": None if plan.valid is None else str(plan.valid),
        },
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "cores": num_usable_cores(),
            "device": plan.device or "auto",
            "python": platform.python_version(),
            "torch": version("torch"),
            "spanwise": version("spanwise"),
        },
        "arms": {arm: _arm(plan, arm, store.vocabulary.size) for arm in study.arms},
        "control_of": plan.control_arms if study.control != "none" else {},
        "figures": [record for probe in study.found_probes for record in _figures(plan, probe)],
        "curves": _curves(plan),
        "probes": {probe.name: to_record(probe) for probe in study.found_probes},
        "probe_files": {
            probe: {key: {"name": path.name, "sha256": plan.hashes[probe][key]} for key, path in files.items()}
            for probe, files in plan.files.items()
        },
        "measured_where": _places(plan),
        "starts_from_text": [
            arm for arm, one in study.arms.items() if one.initial.words != "normal" or one.initial.biases != "zero"
        ],
    }


def _arm(plan: StudyPlan, arm: str, vocab_size: int) -> dict[str, Any]:
    recipe = plan.study.arms[arm]
    first = next(iter(plan.study.arms.values()))
    return {
        "recipe": to_record(recipe),
        "differs": [[path, a, b] for path, a, b in arm_difference(first, recipe)],
        "parameters": count_parameters(outline_model(recipe, vocab_size), vocab_size),
        "tokens": plan.budget.tokens[arm],
        "flops_per_token": plan.budget.flops[arm],
        "runs": {str(seed): _run(plan, arm, seed) for seed in plan.seeds},
    }


def _run(plan: StudyPlan, arm: str, seed: int) -> dict[str, Any]:
    """How one run stands, with its cost."""
    run, why = plan.folder.run(arm, seed), plan.folder.diverged(arm, seed)
    state = "diverged" if why is not None else run.state
    found: dict[str, Any] = {"state": state, "why": why or ""}
    if (run.path / METRICS_NAME).is_file():
        record = read_run(run.path)
        last = record.steps[-1] if record.steps else {}
        tokens = last.get("tokens", 0)
        found |= {
            "steps": last.get("step", 0),
            "tokens": tokens,
            "seconds": last.get("seconds"),
            "loss": last.get("loss"),
        }
        found |= {"flops": tokens * plan.budget.flops[arm], "tokens_per_second": record.tokens_per_second}
    name = Unit(of=arm, seed=seed).name
    kept = [read_record(plan.folder.measured(probe.name, name), "seconds") for probe in plan.study.found_probes]
    found["probe_seconds"] = sum(record["seconds"] for record in kept if record)
    return found


def _places(plan: StudyPlan) -> list[dict[str, str]]:
    """The devices and versions that the figures come from, each once: a study may go on elsewhere."""
    found = []
    for unit in plan.units:
        for probe in plan.study.found_probes:
            where = (read_record(plan.folder.measured(probe.name, unit.name)) or {}).get("where")
            if where and where not in found:
                found.append(where)
    return found


def _figures(plan: StudyPlan, probe: Probe) -> list[dict[str, Any]]:
    """A record for every figure of a probe: columns with means, and the differences of columns."""
    baselines = (read_record(plan.folder.measured(probe.name, BASELINES)) or {}).get("columns", {})
    counted = {key for column in baselines.values() for key in column}  # by which every token was guessed
    absent = {figure.key for figure in probe.figures} - counted if counted else set()
    arms = {
        arm: _column(plan, probe, [Unit(of=arm, seed=seed) for seed in plan.seeds], absent) for arm in plan.study.arms
    }
    controls: dict[str, Callable[[str], SeedValues]] = {}
    if plan.study.control != "none":
        controls = {
            of: _column(plan, probe, [Unit(of=of, seed=seed, is_control=True) for seed in plan.seeds], absent)
            for of in dict.fromkeys(plan.control_arms.values())
        }
    return [
        _figure(
            probe,
            figure,
            {arm: values(figure.key) for arm, values in arms.items()},
            {of: values(figure.key) for of, values in controls.items()},
            {name: column[figure.key] for name, column in baselines.items() if figure.key in column},
            plan.control_arms,
        )
        for figure in probe.figures
    ]


def _figure(
    probe: Probe,
    figure: Figure,
    arms: dict[str, SeedValues],
    controls: dict[str, SeedValues],
    baselines: dict[str, float],
    control_arms: dict[str, str],
) -> dict[str, Any]:
    differences = []
    names = list(arms)
    for place, ours in enumerate(names):
        for other in names[:place]:
            found = seed_difference(arms[ours], arms[other], better=figure.better)
            differences.append({"ours": ours, "other": other, **asdict(found)})
        if controls:
            found = seed_difference(arms[ours], controls[control_arms[ours]], better=figure.better)
            differences.append({"ours": ours, "other": CONTROL, **asdict(found)})
    return {
        "probe": probe.name,
        **asdict(figure),
        "baselines": baselines,
        "controls": {of: _shown(values) for of, values in controls.items()},
        "arms": {arm: _shown(values) for arm, values in arms.items()},
        "differences": differences,
    }


def _shown(column: SeedValues) -> dict[str, Any]:
    return {"values": {str(seed): value for seed, value in column.values.items()}, **asdict(seed_mean(column))}


def _column(
    plan: StudyPlan, probe: Probe, units: Sequence[Unit], absent: Collection[str]
) -> Callable[[str], SeedValues]:
    """The figures of one arm, or of a control, by key. absent: keys that the text has nothing for."""
    kept = {unit: read_record(plan.folder.measured(probe.name, unit.name), "figures", "failed") for unit in units}

    def values(key: str) -> SeedValues:
        values: dict[int, float] = {}
        missing: dict[int, str] = {}
        for unit, record in kept.items():
            if record is not None and record["figures"].get(key) is not None:
                values[unit.seed] = record["figures"][key]
            elif record is not None and key in record["figures"]:
                missing[unit.seed] = NOT_FINITE
            else:
                missing[unit.seed] = _why(plan.folder, unit, record, NO_TOKEN if key in absent else NO_HEAD)
        return SeedValues(values=values, missing=missing)

    return values


def _why(folder: StudyFolder, unit: Unit, record: dict[str, Any] | None, otherwise: str) -> str:
    """Why a model has no such figure. otherwise: the reason where it was measured, and no measure failed."""
    if record is not None:
        return record["failed"] or otherwise
    if not unit.is_control and folder.diverged(unit.of, unit.seed) is not None:
        return f"{unit.name} diverged"
    return NOT_YET


def _curves(plan: StudyPlan) -> dict[str, Any]:
    """Learning curves: {loss: {arm: {"tokens", "mean", "num_seeds", "held_out": {"tokens", "mean"}}}}.

    A point is a mean over the seeds that have logged it, all of them or none.
    """
    found: dict[str, Any] = {}
    for arm in plan.study.arms:
        folders = [plan.folder.run(arm, seed).path for seed in plan.seeds]
        if not all((folder / METRICS_NAME).is_file() for folder in folders):
            continue
        runs = [read_run(folder) for folder in folders]
        for name in runs[0].loss_names:
            training = _mean_curve([run.curve(name) for run in runs])
            held_out = _mean_curve([_held_out(run, name) for run in runs])
            found.setdefault(name, {})[arm] = {**training, "num_seeds": len(runs), "held_out": held_out}
    return found


def _held_out(run: RunRecord, name: str) -> tuple[list[float], list[float]]:
    return run.evaluation_curve(f"{name}_loss")


def _mean_curve(curves: Sequence[tuple[list[float], list[float]]]) -> dict[str, list[float]]:
    """Points by their order in the log: seeds take the same steps, of tokens that differ by a few."""
    shortest = min(len(x) for x, _ in curves)
    num_curves = len(curves)
    return {
        "tokens": [sum(x[place] for x, _ in curves) / num_curves for place in range(shortest)],
        "mean": [sum(y[place] for _, y in curves) / num_curves for place in range(shortest)],
    }
