"""The work on one model of a study: train it, or write the control's weights; then measure it by every probe.

Everything is kept as soon as it is whole, and found again by a later call: a finished run is not run again, a run that
was cut off goes on bit for bit, a figure is measured once. A run whose numbers went bad is kept as that.
"""

import sys
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import IO

from spanwise.data.token_store import TokenStore
from spanwise.errors import NumericsError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import write_folder
from spanwise.pretraining.run import pretrain
from spanwise.pretraining.system import build_model
from spanwise.runtime.device import choose_device
from spanwise.runtime.files import MANIFEST_NAME, atomic_folder
from spanwise.runtime.processes.distributed import World
from spanwise.runtime.progress import RunLog
from spanwise.studies.folder import BASELINES, DIVERGED_NAME, Measure, read_measure, write_record
from spanwise.studies.phases import first_of
from spanwise.studies.plan import StudyPlan, Unit
from spanwise.studies.probes import Context, Figures, Probe
from spanwise.weights.learned_from import LEARNED_FROM

ALONE = World()


def work_on(plan: StudyPlan, unit: Unit, stream: IO[str] | None = sys.stdout) -> None:
    """Do what is still to be done for one model.

    Raises: as `pretrain` and the tasks do, but for NumericsError, which is a result.
    """
    log = RunLog(None, stream=stream)
    if unit.is_control:
        write_control(plan, unit)
    elif needs_training(plan, unit):
        train(plan, unit, stream)
    for probe in left_to_measure(plan, unit):
        log.say(f"{unit.name}: {probe.name}")
        measure(plan, unit, probe, log)


def left_to_measure(plan: StudyPlan, unit: Unit) -> list[Probe]:
    """Return the probes that a model has no figures of; none where its training diverged."""
    if has_diverged(plan, unit):
        return []
    return [probe for probe in plan.study.found_probes if not plan.folder.measured(probe.name, unit.name).exists()]


def needs_training(plan: StudyPlan, unit: Unit) -> bool:
    """Return whether a run has neither ended nor diverged."""
    return plan.folder.run(unit.of, unit.seed).state != "finished" and not has_diverged(plan, unit)


def has_diverged(plan: StudyPlan, unit: Unit) -> bool:
    """Return whether the numbers of a run went bad."""
    return not unit.is_control and plan.folder.diverged(unit.of, unit.seed) is not None


def train(plan: StudyPlan, unit: Unit, stream: IO[str] | None, world: World = ALONE) -> None:
    """Train an arm from a seed, to its end or until its numbers go bad; the first of several processes keeps both.

    Of two phases the second goes on with the weights that the first has left.
    """
    run, first = plan.folder.run(unit.of, unit.seed), plan.first_recipe(unit)
    legs = [(plan.recipe(unit), run, unit.of)]
    if first is not None:
        legs.insert(0, (first, plan.folder.first(unit.of, unit.seed), first_of(unit.of)))
    init: Path | None = None
    try:
        for recipe, leg, name in legs:
            log = RunLog(leg.path if world.is_leader else None, stream=stream, trackers=plan.log_to)
            log.say(f"{leg.path.name}: {plan.budget.tokens[name]:,} tokens")
            pretrain(
                recipe,
                out=leg.path,
                data=plan.data,
                valid=plan.valid,
                init=init,
                resume=True,
                log=log,
                device=plan.device,
                resume_command=plan.resume_command,
            )
            init = leg.final
    except NumericsError as error:
        if world.is_leader:
            write_record(run.path / DIVERGED_NAME, {"error": str(error)})
        log.say(f"{unit.name} diverged and is kept as that: {error}")


def write_control(plan: StudyPlan, unit: Unit) -> None:
    """Write the weights that the arms of this encoder begin with, heads included."""
    target = plan.folder.control(unit.of, unit.seed)
    if (target / MANIFEST_NAME).exists():
        return
    store = TokenStore.open(plan.data)
    model = build_model(plan.recipe(unit), store.vocabulary.size)
    with atomic_folder(target, existing="replace") as temporary:
        content = FolderContent(model.encoder, dict(model.heads.items()), store.tokenizer(), extra={LEARNED_FROM: []})
        write_folder(temporary, content)


def measure(plan: StudyPlan, unit: Unit, probe: Probe, log: RunLog) -> None:
    """Measure one model by one probe and keep the figures."""
    began = time.perf_counter()
    context = Context(
        material=plan.material(probe),
        model=plan.model(unit),
        recipe=plan.recipe(unit),
        seed=unit.seed,
        out=plan.folder.work(probe.name, unit.name),
        log=log,
        device=plan.device,
        resume_command=plan.resume_command,
    )
    figures: Figures = {}
    failed = ""
    try:
        figures = probe.measure(context)
    except NumericsError as error:
        failed = f"the probe's own training diverged: {error}"
    where = {"device": choose_device(plan.device).type, "torch": version("torch"), "spanwise": version("spanwise")}
    found = Measure(
        settings=plan.settings(probe), figures=figures, failed=failed, seconds=time.perf_counter() - began, where=where
    )
    write_record(plan.folder.measured(probe.name, unit.name), asdict(found))


def measure_baselines(plan: StudyPlan, probe: Probe) -> None:
    """Compute the figures that need no model, once per study."""
    target = plan.folder.measured(probe.name, BASELINES)
    if read_measure(target) is None:
        found = Measure(settings=plan.settings(probe), columns=probe.baselines(plan.material(probe)))
        write_record(target, asdict(found))
