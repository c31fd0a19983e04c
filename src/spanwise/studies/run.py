"""A study from its first step to its table; called again, it goes on where it stopped."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from spanwise.errors import ConfigError
from spanwise.reporting.page import render
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.lock import folder_lock
from spanwise.runtime.progress import RunLog
from spanwise.studies.folder import (
    REPORT_NAME,
    RESULT_NAME,
    TABLE_NAME,
    settle,
    settle_measure,
    write_record,
)
from spanwise.studies.jobs import work_beside
from spanwise.studies.page import study_page
from spanwise.studies.plan import StudyPlan, Unit, plan_study
from spanwise.studies.results import collect
from spanwise.studies.study import Study
from spanwise.studies.tables import markdown
from spanwise.studies.units import measure_baselines, work_on


@dataclass(frozen=True, kw_only=True)
class StudyResult:
    """Where the tables lie, and the record that result.json holds."""

    folder: Path
    record: dict[str, Any]

    @property
    def diverged(self) -> list[str]:
        """The runs whose numbers went bad, as ARM-SEED."""
        return [
            f"{arm}-{seed}"
            for arm, found in self.record["arms"].items()
            for seed, run in found["runs"].items()
            if run["state"] == "diverged"
        ]


def run_study(
    study: Study,
    *,
    data: str | Path,
    out: str | Path,
    seeds: int = 3,
    valid: str | Path | None = None,
    probe_data: str | Path | None = None,
    jobs: int = 1,
    device: str | None = None,
    stream: IO[str] | None = None,
    resume_command: str = "",
    command: str = "",
) -> StudyResult:
    """Train every arm from the seeds 0 to `seeds` - 1, measure all models by all probes, and write the tables.

    `data` and `valid` are token stores, `probe_data` is the folder with the probes' files. `jobs` models are worked on
    side by side, each by a process of its own. A folder in which the same study was stopped is gone on with; more seeds
    and other probes may be asked for later. Tables are written anew whenever a model is done. `stream` shows what
    happens, `command` stands in the report.

    Raises: ConfigError (also for a folder with another study), DataError, FolderInUseError, InterruptedAndSaved.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError(
            "a study does not run under torchrun: training is one process here. Start it without, and use --jobs."
        )
    if jobs < 1:
        raise ConfigError(f"--jobs {jobs} leaves nobody to work; give 1 or more.")
    plan = plan_study(study, data=data, out=out, seeds=seeds, valid=valid, probe_data=probe_data, device=device)
    log = RunLog(None, stream=stream)
    with folder_lock(plan.folder.path):
        settle(plan.folder, plan.identity)
        for probe in study.found_probes:
            for name in ("baselines", *(unit.name for unit in plan.units)):
                settle_measure(plan.folder.measured(probe.name, name), plan.settings(probe))
        for probe in study.found_probes:
            measure_baselines(plan, probe)

        def after(unit: Unit) -> None:
            write_tables(plan, command)

        if jobs == 1:
            work_in_turn(plan, stream, resume_command, after)
        else:
            work_beside(plan, jobs, log, after)
        record = write_tables(plan, command)
    return StudyResult(folder=plan.folder.path, record=record)


def work_in_turn(plan: StudyPlan, stream: IO[str] | None, resume_command: str, after: Callable[[Unit], None]) -> None:
    """All models in this process, one after the other."""
    for unit in plan.units:
        work_on(plan, unit, stream, resume_command)
        after(unit)


def write_tables(plan: StudyPlan, command: str) -> dict[str, Any]:
    """Write result.json, table.md and report.html from what there is by now; returns the record."""
    record = collect(plan, command)
    write_record(plan.folder.path / RESULT_NAME, record)
    write_text_atomic(plan.folder.path / TABLE_NAME, markdown(record))
    write_text_atomic(plan.folder.path / REPORT_NAME, render(study_page(record)))
    return record
