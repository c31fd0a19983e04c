"""A study from its first step to its table; called again, it goes on where it stopped."""

import contextlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from spanwise.errors import ConfigError
from spanwise.pretraining.run import check_processes
from spanwise.reporting.markdown import markdown
from spanwise.reporting.page import render
from spanwise.reporting.picture import chart_svg
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.lock import folder_lock
from spanwise.runtime.processes.distributed import join_processes, world_of_environment
from spanwise.runtime.progress import RunLog
from spanwise.studies.folder import (
    BASELINES,
    REPORT_NAME,
    RESULT_NAME,
    TABLE_NAME,
    recorded_study,
    refuse_less,
    settle,
    settle_measure,
    write_record,
)
from spanwise.studies.growth import growth_charts
from spanwise.studies.jobs import work_beside
from spanwise.studies.page import study_page
from spanwise.studies.plan import SAME_COMMAND, StudyPlan, plan_study
from spanwise.studies.record import StudyRecord
from spanwise.studies.results import collect
from spanwise.studies.study import Study
from spanwise.studies.units import measure_baselines, needs_training, train, work_on


@dataclass(frozen=True, kw_only=True)
class StudyResult:
    """The folder with the tables, and the record that they are drawn from."""

    folder: Path
    record: StudyRecord


def run_study(
    study: Study,
    *,
    data: str | Path,
    out: str | Path,
    seeds: int = 3,
    valid: str | Path | None = None,
    probe_data: str | Path | None = None,
    jobs: int = 1,
    log_to: Sequence[str] = (),
    device: str | None = None,
    stream: IO[str] | None = None,
    command: str = "",
) -> StudyResult | None:
    """Train every arm from the seeds 0 to `seeds` - 1, measure all models by all probes, and write the tables.

    `data` and `valid` are token stores, `probe_data` is the folder with the probes' files. `jobs` models are worked on
    side by side, each by a process of its own. A folder in which the same study was stopped is gone on with; more seeds
    and further probes may be asked for later. Tables are written anew whenever a model is done. `stream` shows what
    happens; `log_to` names trackers that get the numbers of every run. `command` goes on with this study where it is
    stopped, and stands in the report. Started as several processes (torchrun), all call this alike and share the steps
    of training; the first of them measures, the others are given None.

    Raises: ConfigError (also for a folder with another study), DataError, FolderInUseError, InterruptedAndSaved.
    """
    if jobs < 1:
        raise ConfigError(f"--jobs {jobs} leaves nobody to work; give 1 or more.")
    log = RunLog(None, stream=stream)
    plan = plan_study(
        study,
        data=data,
        out=out,
        seeds=seeds,
        valid=valid,
        probe_data=probe_data,
        device=device,
        jobs=jobs,
        log_to=log_to,
        log=log,
        resume_command=command or SAME_COMMAND,
    )
    recorded_study(plan.folder)  # other things are refused before a lock lies beside them
    if world_of_environment().size > 1:
        if jobs > 1:
            raise ConfigError("--jobs works on several models, several processes share one; give one of the two.")
        if not train_together(plan, stream):
            return None
    with folder_lock(plan.folder.path):
        settle_all(plan)
        if jobs == 1:
            for unit in plan.units:
                work_on(plan, unit, stream)
                write_tables(plan, command)
        else:
            work_beside(plan, jobs, log, lambda _: write_tables(plan, command))
        record = write_tables(plan, command)
    return StudyResult(folder=plan.folder.path, record=record)


def settle_all(plan: StudyPlan) -> None:
    """Refuse all that can be refused before the first step: another study's folder, figures that were measured
    otherwise or would be left out, and, as baselines read them, damaged files of the probes."""
    settle(plan.folder, plan.identity)
    probes = plan.study.found_probes
    for probe in probes:
        for name in (BASELINES, *(unit.name for unit in plan.units)):
            settle_measure(plan.folder.measured(probe.name, name), plan.settings(probe))
    refuse_less(plan.folder, plan.study.arms, plan.seeds, [probe.name for probe in probes])
    for probe in probes:
        measure_baselines(plan, probe)


def train_together(plan: StudyPlan, stream: IO[str] | None) -> bool:
    """Train all arms as one of several processes, and return whether this is the one that goes on to measure.

    The leader says what is done already. Raises: as `run_study`, and PeerLostError.
    """
    with join_processes() as group, contextlib.ExitStack() as stack:
        assert group is not None  # called by one of several
        for leg in plan.study.legs.values():
            check_processes(leg.recipe, group, plan.device)
        if group.world.is_leader:
            stack.enter_context(folder_lock(plan.folder.path))
            settle_all(plan)
        for unit in plan.units:
            if not unit.is_control and group.gather(needs_training(plan, unit))[0]:
                train(plan, unit, stream if group.world.is_leader else None, group.world)
        return group.world.is_leader


def write_tables(plan: StudyPlan, command: str) -> StudyRecord:
    """Write result.json, table.md and report.html from what there is by now, and return the record."""
    record = collect(plan, command)
    page = study_page(record)
    for probe, chart in growth_charts(record).items():
        write_text_atomic(plan.folder.path / f"{probe}.svg", chart_svg(chart))
    write_record(plan.folder.path / RESULT_NAME, asdict(record), is_read_again=False)
    write_text_atomic(plan.folder.path / TABLE_NAME, markdown(page))
    write_text_atomic(plan.folder.path / REPORT_NAME, render(page))
    return record
