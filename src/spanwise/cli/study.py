"""`spanwise study`: arms, seeds and probes in, a table of paired differences out."""

import shlex
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from spanwise.cli.console import print_json, print_table, say
from spanwise.cli.options.budget import parse_budget
from spanwise.cli.options.processes import is_one_of_several, launch_again
from spanwise.cli.options.ranges import Few, Processes, Tokens
from spanwise.cli.options.run import LogTo
from spanwise.errors import NumericsError
from spanwise.runtime.program import program

if TYPE_CHECKING:
    from spanwise.studies.record import StudyRecord
    from spanwise.studies.study import Study


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """Changes of a study."""

    tokens: Tokens = None
    """That every arm reads, instead of the study's own budget."""
    budget: str | None = None
    """Time that every arm trains for, such as 20min, instead of the study's own budget. At the start each arm is tried
    alone for some seconds; the tokens that follow from its speed are kept with the study."""
    overrides: Annotated[list[str] | None, Parameter(name="--set")] = None
    """Change a value in every arm: path=value. May be repeated."""
    probe: list[str] | None = None
    """Measure by this probe alone; may be repeated."""

    def change(self, study: "Study") -> "Study":
        """Return the study with these changes. Raises: ConfigError."""
        from spanwise.studies.study import changed_study

        seconds = None if self.budget is None else parse_budget(self.budget)
        return changed_study(
            study, tokens=self.tokens, seconds=seconds, overrides=self.overrides or [], probes=self.probe or []
        )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Workers:
    """Who works on a study."""

    jobs: Processes = 1
    """Models worked on side by side, each by a process of one thread."""
    processes: Processes = 1
    """Share each step of training among so many processes of this machine: for GPUs. Probes are measured by one. On
    several machines, start this command by torchrun."""
    device: str | None = None
    """cpu, cuda or cuda:1. Default: a GPU where there is one."""


AS_IT_IS, ONE_BY_ONE = StudyOptions(), Workers()


def study(
    study: str,
    /,
    *,
    data: Path,
    out: Path,
    seeds: Few = 3,
    valid: Path | None = None,
    probe_data: Path | None = None,
    changes: StudyOptions = AS_IT_IS,
    workers: Workers = ONE_BY_ONE,
    log_to: LogTo = None,
    json: bool = False,
) -> int:
    """Train every arm of a study from several seeds, measure all by its probes, and write the table.

    OUT gets result.json, table.md and report.html: means, paired differences with 95 % intervals, curves and costs. The
    same command goes on where it was stopped; with more seeds or other probes it adds to what is there.

    Parameters
    ----------
    study
        A name (spanwise show study lists them), or my_study.py:my_function.
    data
        The token store that all arms read, as prepare makes it.
    out
        Folder of the study; a run of ARM and SEED lies in OUT/ARM-SEED.
    seeds
        How many seeds: 0, 1, ... One gives no interval.
    valid
        A store of held-out text, of the same tokenizer.
    probe_data
        Folder with the files of the probes; a missing file is refused with how to get it.
    log_to
        Trackers that get the numbers of every run too: tensorboard, wandb, mlflow or trackio. May be repeated.
    json
        Print result.json at the end, progress to standard error.
    """
    if workers.processes != 1 and not is_one_of_several():
        return launch_again(workers.processes)
    from spanwise.studies.catalogue import find_study
    from spanwise.studies.run import run_study

    result = run_study(
        changes.change(find_study(study)),
        data=data,
        out=out,
        seeds=seeds,
        valid=valid,
        probe_data=probe_data,
        jobs=workers.jobs,
        device=workers.device,
        log_to=log_to or (),
        stream=sys.stderr if json else sys.stdout,
        command=f"{program()} {shlex.join(sys.argv[1:])}",
    )
    if result is None:
        return 0  # not the process that speaks
    record = result.record
    if json:
        print_json(asdict(record))
    else:
        _print_tables(record, out)
    return NumericsError.exit_status if record.diverged else 0


def _print_tables(record: "StudyRecord", out: Path) -> None:
    from spanwise.studies.page import differences_table, means_table, unfinished

    for table in (means_table(record, main=True), differences_table(record, main=True, control=False)):
        print_table(table.columns, [[cell.plain for cell in row] for row in table.rows], title=table.title or "Figures")
        say(table.note)
        say("")
    for line in unfinished(record):
        say(line)
    say(f"Tables: {out / 'table.md'}, {out / 'report.html'}, {out / 'result.json'}")
