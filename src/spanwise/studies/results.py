"""Collect what a study has found by now: the figures of every model, means, paired differences, curves, costs.

Nothing is computed from models here; a study that is not finished gives what there is and says what is not.
"""

import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version

from spanwise.config import to_record
from spanwise.data.token_store import TokenStore
from spanwise.pretraining.describe import count_parameters
from spanwise.pretraining.system import outline_model
from spanwise.reporting.runs import read_run
from spanwise.runtime.machine import num_usable_cores
from spanwise.runtime.progress import METRICS_NAME
from spanwise.studies.folder import BASELINES, Measure, read_measure
from spanwise.studies.phases import first_of
from spanwise.studies.plan import StudyPlan, Unit
from spanwise.studies.probes import Probe
from spanwise.studies.probes.few_examples import FewExamples
from spanwise.studies.record import (
    ArmRecord,
    Column,
    Curve,
    MeasuredFigure,
    PairDifference,
    Points,
    RunCosts,
    StudyRecord,
    TextRecord,
)
from spanwise.studies.statistics import SeedValues, seed_difference, seed_mean
from spanwise.studies.study import CONTROL, difference_from_first

NOT_YET = "not measured yet"
NO_HEAD = "the model has no head for it"
NO_TOKEN = "there is nothing of the kind to measure: baselines lack it too"
NOT_HELD_OUT = "The held-out text is the training text itself: no figure on it is of unseen text."
NOT_FINITE = "its figure is no finite number"
Kept = Mapping[str, Mapping[str, Measure | None]]  # by probe and model


def collect(plan: StudyPlan, command: str = "") -> StudyRecord:
    """Read everything that lies in the folder of a study."""
    study, store, probes = plan.study, TokenStore.open(plan.data), plan.study.found_probes
    kept: Kept = {
        probe.name: {unit.name: read_measure(plan.folder.measured(probe.name, unit.name)) for unit in plan.units}
        for probe in probes
    }
    places = [measure.where for models in kept.values() for measure in models.values() if measure and measure.where]
    return StudyRecord(
        study=study.name,
        question=study.question,
        notes=[*study.notes, *([NOT_HELD_OUT] if plan.identity["valid"] == store.sha256 else [])],
        command=command,
        seeds=list(plan.seeds),
        budget=plan.budget,
        control=study.control,
        text=TextRecord(
            store=str(plan.data),
            sha256=store.sha256,
            num_tokens=store.num_tokens,
            num_documents=store.num_documents,
            vocabulary=store.vocabulary.size,
            valid=None if plan.valid is None else str(plan.valid),
        ),
        machine={
            "processor": platform.processor() or platform.machine(),
            "cores": num_usable_cores(),
            "device": plan.device or "auto",
            "python": platform.python_version(),
            "torch": version("torch"),
            "spanwise": version("spanwise"),
        },
        arms={arm: _arm(plan, arm, store.vocabulary.size, kept) for arm in study.arms},
        control_of=plan.control_arms if study.control != "none" else {},
        figures=[figure for probe in probes for figure in _figures(plan, probe, kept[probe.name])],
        curves=_curves(plan),
        probes={probe.name: to_record(probe) for probe in probes},
        probe_files={
            probe: {key: {"name": path.name, "sha256": plan.hashes[probe][key]} for key, path in files.items()}
            for probe, files in plan.files.items()
        },
        examples={
            probe.name: probe.examples_of(plan.material(probe)) for probe in probes if isinstance(probe, FewExamples)
        },
        measured_where=[where for number, where in enumerate(places) if where not in places[:number]],
        starts_from_text=[
            arm for arm, one in study.arms.items() if one.initial.words != "normal" or one.initial.biases != "zero"
        ],
    )


def _arm(plan: StudyPlan, arm: str, vocab_size: int, kept: Kept) -> ArmRecord:
    recipe, first = plan.study.arms[arm], plan.study.first.get(arm)
    return ArmRecord(
        recipe=to_record(recipe),
        differs=difference_from_first(plan.study, arm),
        parameters=count_parameters(outline_model(recipe, vocab_size), vocab_size),
        tokens=plan.budget.tokens[arm],
        first=None
        if first is None
        else {"share": first.share, "tokens": plan.budget.tokens[first_of(arm)], "recipe": to_record(first.recipe)},
        flops_per_token=plan.flops[arm],
        runs={str(seed): _costs(plan, Unit(of=arm, seed=seed), kept) for seed in plan.seeds},
    )


def _costs(plan: StudyPlan, unit: Unit, kept: Kept) -> RunCosts:
    run, why = plan.folder.run(unit.of, unit.seed), plan.folder.diverged(unit.of, unit.seed)
    state = "diverged" if why is not None else run.state
    measures = [models[unit.name] for models in kept.values()]
    probe_seconds = sum(measure.seconds for measure in measures if measure is not None)
    legs = {unit.of: run}
    if unit.of in plan.study.first:
        legs = {first_of(unit.of): plan.folder.first(unit.of, unit.seed), **legs}
    logs = {name: read_run(leg.path) for name, leg in legs.items() if (leg.path / METRICS_NAME).is_file()}
    if not logs:
        return RunCosts(state=state, why=why or "", probe_seconds=probe_seconds)
    last = {name: log.steps[-1] if log.steps else {} for name, log in logs.items()}
    seconds = [leg["seconds"] for leg in last.values() if leg.get("seconds") is not None]
    *_, newest = logs
    return RunCosts(
        state=state,
        why=why or "",
        steps=sum(leg.get("step", 0) for leg in last.values()),
        tokens=sum(leg.get("tokens", 0) for leg in last.values()),
        seconds=sum(seconds) if seconds else None,
        loss=last[newest].get("loss"),
        flops=sum(leg.get("tokens", 0) * plan.flops[name] for name, leg in last.items()),
        tokens_per_second=logs[newest].tokens_per_second,
        probe_seconds=probe_seconds,
    )


def _figures(plan: StudyPlan, probe: Probe, kept: Mapping[str, Measure | None]) -> list[MeasuredFigure]:
    """Return all figures of a probe: columns with means, and the differences of columns."""
    baselines = read_measure(plan.folder.measured(probe.name, BASELINES))
    columns = {} if baselines is None else baselines.columns
    counted = {key for column in columns.values() for key in column}  # by which every token was guessed
    absent = {figure.key for figure in probe.figures} - counted if counted else set()
    control_of = plan.control_arms if plan.study.control != "none" else {}

    def values(key: str, of: str, *, is_control: bool = False) -> SeedValues:
        units = [Unit(of=of, seed=seed, is_control=is_control) for seed in plan.seeds]
        found = {unit: (measure.figures.get(key) if (measure := kept[unit.name]) else None) for unit in units}
        return SeedValues(
            values={unit.seed: value for unit, value in found.items() if value is not None},
            missing={
                unit.seed: _why(plan, unit, kept[unit.name], key, absent)
                for unit, value in found.items()
                if value is None
            },
        )

    figures = []
    for figure in probe.figures:
        arms = {arm: values(figure.key, arm) for arm in plan.study.arms}
        controls = {of: values(figure.key, of, is_control=True) for of in dict.fromkeys(control_of.values())}
        pairs = []
        for place, ours in enumerate(arms):
            others = {other: arms[other] for other in list(arms)[:place]}
            if controls:
                others[CONTROL] = controls[control_of[ours]]
            for other, theirs in others.items():
                found = seed_difference(arms[ours], theirs, better=figure.better)
                pairs.append(PairDifference(ours=ours, other=other, **vars(found)))
        figures.append(
            MeasuredFigure(
                **asdict(figure),
                probe=probe.name,
                baselines={name: column[figure.key] for name, column in columns.items() if figure.key in column},
                controls={of: _column(found) for of, found in controls.items()},
                arms={arm: _column(found) for arm, found in arms.items()},
                differences=pairs,
            )
        )
    return figures


def _column(found: SeedValues) -> Column:
    return Column(values={str(seed): value for seed, value in found.values.items()}, **vars(seed_mean(found)))


def _why(plan: StudyPlan, unit: Unit, measure: Measure | None, key: str, absent: Collection[str]) -> str:
    """Say why a model has no such figure. absent: the figures that the text has nothing for."""
    if measure is None:
        has_diverged = not unit.is_control and plan.folder.diverged(unit.of, unit.seed) is not None
        return f"{unit.name} diverged" if has_diverged else NOT_YET
    if key in measure.figures:
        return NOT_FINITE
    return measure.failed or (NO_TOKEN if key in absent else NO_HEAD)


def _curves(plan: StudyPlan) -> dict[str, dict[str, Curve]]:
    """Return learning curves by loss and arm; a point is a mean over all seeds, and seeds that lag cut the curve."""
    found: dict[str, dict[str, Curve]] = {}
    for arm in plan.study.arms:
        folders = [plan.folder.run(arm, seed).path for seed in plan.seeds]
        if not all((folder / METRICS_NAME).is_file() for folder in folders):
            continue
        runs = [read_run(folder) for folder in folders]
        for name in runs[0].loss_names:
            training = _mean_curve([run.curve(name) for run in runs])
            held_out = _mean_curve([run.evaluation_curve(f"{name}_loss") for run in runs])
            curve = Curve(tokens=training.tokens, mean=training.mean, num_seeds=len(runs), held_out=held_out)
            found.setdefault(name, {})[arm] = curve
    return found


def _mean_curve(curves: Sequence[tuple[list[float], list[float]]]) -> Points:
    """Average points by their order in the log: seeds take the same steps, of tokens that differ by a few."""
    xs, ys = (list(zip(*axis, strict=False)) for axis in zip(*curves, strict=True))
    return Points(tokens=[sum(x) / len(x) for x in xs], mean=[sum(y) / len(y) for y in ys])
