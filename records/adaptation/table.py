"""What going on with a domain's own text is worth in tasks: one table, measured cell by cell; call it again to go on.

    python records/adaptation/table.py START DATA OUT

START is a model folder, a name that ships or a hub id; DATA holds the files that domains.py names, `.xz` or plain. Four
arms learn the same labels with the same numbers of steps and rates:

| arm | goes on with the domain's text | learns the labels |
|---|---|---|
| finetune | | `spanwise finetune` |
| adapt | `spanwise adapt` | `spanwise finetune` |
| examples | | a loop like that of transformers' examples |
| run_mlm | 15 % masked tokens, as run_mlm.py of transformers does | a loop like that of transformers' examples |

Both ways to go on have the same minutes, and no text of a test article. A rate is chosen out of three by the mean dev
score of the first three seeds; every seed draws other labels, another head and another order. A cell is one fine-tuned
model, kept as OUT/cells/TASK/ARM/LABELS/rate-R-seed-S.json once it is scored. More seeds, or numbers of labels, may be
asked for in an OUT that is there: what is measured already counts. The table shows the seeds and labels of its call.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import theirs
from domains import DOMAINS, prepare, questions_of, sentences_of, write_questions, write_sentences
from scipy.special import stdtrit

from spanwise.adapt.report import NAMES
from spanwise.cli.main import main as spanwise
from spanwise.interop.huggingface import read_folder
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.progress import RunLog
from spanwise.studies.probes.finetuned import usual_rate
from spanwise.tasks.evaluate import evaluate
from spanwise.tasks.registry import task_recipe
from spanwise.tasks.run import finetune

SCORES = {"qa": "f1", "tagging": "f1", "classification": "accuracy"}  # of a task
ARMS = ("finetune", "adapt", "examples", "run_mlm")
DIFFERENCES = (("adapt", "finetune"), ("adapt", "run_mlm"), ("run_mlm", "examples"), ("finetune", "examples"))
RATE_FACTORS = (1 / 3, 1.0, 3.0)  # of the usual rate of an encoder of this width
CHOOSING_SEEDS = 3  # one alone has chosen a rate that cost a row of names 7 F1 on test


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What all cells of a table share; OUT/settings.json keeps it."""

    start: str
    language: str
    minutes: float
    seeds: int
    labels: tuple[int, ...]  # 0: all there are
    steps: tuple[int, ...]  # for each number of labels

    @property
    def tasks(self) -> list[str]:
        """The domains of the language, which are the rows of the table."""
        return [name for name, domain in DOMAINS.items() if domain.language == self.language]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One fine-tuned model and its scores."""

    task: str
    arm: str
    labels: int
    rate: int  # place in RATE_FACTORS
    seed: int

    def path(self, out: Path) -> Path:
        """Where its scores are kept."""
        name = f"rate-{self.rate}-seed-{self.seed}.json"
        return out / "cells" / self.task / self.arm / str(self.labels or "all") / name

    def scores(self, out: Path) -> dict[str, float] | None:
        """Its scores, None where it is not run yet."""
        path = self.path(out)
        return json.loads(path.read_text()) if path.exists() else None


def labelled(cell: Cell, out: Path) -> Path:
    """Return the file of a cell's labels: the same ones for every arm and rate of a seed."""
    suffix = DOMAINS[cell.task].suffix
    whole = out / "data" / f"{cell.task}-train{suffix}"
    if not cell.labels:
        return whole
    path = out / "data" / f"{cell.task}-train-{cell.labels}-seed-{cell.seed}{suffix}"
    draw = random.Random(f"{cell.task} {cell.labels} {cell.seed}")
    if path.exists():
        return path
    if suffix == ".tsv":
        head, *rows = whole.read_text(encoding="utf-8").splitlines()
        chosen = draw.sample(rows, min(cell.labels, len(rows)))
        write_text_atomic(path, "\n".join([head, *chosen]) + "\n")
        return path
    if suffix == ".conll":
        sentences = sentences_of(whole.read_text(encoding="utf-8"))
        write_sentences(path, draw.sample(sentences, min(cell.labels, len(sentences))))
        return path
    articles = json.loads(whole.read_text(encoding="utf-8"))["data"]
    ids = [question["id"] for question, _ in questions_of(articles)]
    wanted = set(draw.sample(ids, min(cell.labels, len(ids))))
    for article in articles:
        for paragraph in article["paragraphs"]:
            paragraph["qas"] = [question for question in paragraph["qas"] if question["id"] in wanted]
        article["paragraphs"] = [paragraph for paragraph in article["paragraphs"] if paragraph["qas"]]
    write_questions(path, [article for article in articles if article["paragraphs"]])
    return path


# ------------------------------------------------------------------------------------------ going on with text


def start_of(cell: Cell, settings: Settings, out: Path) -> str:
    """Return the model that a cell begins with; it is made where it is not there yet."""
    if cell.arm in ("finetune", "examples"):
        return str(read_folder(settings.start).folder)
    text, target = out / "data" / f"{cell.task}.txt", out / "models" / f"{cell.task}-{cell.arm}"
    if cell.arm == "run_mlm":
        if not target.exists():
            theirs.run_mlm(str(read_folder(settings.start).folder), text, 60 * settings.minutes, target)
        return str(target)
    if not (target / "adaptation.json").exists():
        call = ["adapt", settings.start, str(text), "--out", str(target), "--budget", f"{60 * settings.minutes:g}s"]
        if not NAMES.keys() & read_folder(settings.start).heads.keys():  # no loss can judge it, so labels do
            dev = out / "data" / f"{cell.task}-dev{DOMAINS[cell.task].suffix}"
            fewest = replace(cell, labels=min(settings.labels, key=lambda count: count or sys.maxsize), seed=0)
            call += ["--proof", DOMAINS[cell.task].task, str(labelled(fewest, out)), str(dev)]
        if status := spanwise([*call, *(["--resume"] if (target / "adapt.json").exists() else [])]):
            raise SystemExit(status)
    return str(target / "final")


# ------------------------------------------------------------------------------------------ learning the labels


def run_cell(cell: Cell, settings: Settings, out: Path) -> None:
    """Fine-tune, score on dev and test, and keep the scores."""
    start, train = start_of(cell, settings, out), labelled(cell, out)
    rate = usual_rate(read_folder(settings.start).config.hidden_size) * RATE_FACTORS[cell.rate]
    steps = settings.steps[settings.labels.index(cell.labels)]
    began = time.monotonic()
    learn = ours if cell.arm in ("finetune", "adapt") else as_examples
    files = {name: out / "data" / f"{cell.task}-{name}{DOMAINS[cell.task].suffix}" for name in ("dev", "test")}
    scores = learn(cell, start, train, files, steps, rate, out / f"work-{cell.task}")
    record = {**asdict(cell), "learning_rate": rate, "steps": steps, **scores, "seconds": time.monotonic() - began}
    cell.path(out).parent.mkdir(parents=True, exist_ok=True)
    write_text_atomic(cell.path(out), json.dumps(record, indent=1) + "\n")
    print(f"{cell.path(out).relative_to(out)}: dev {scores['dev']:.1f}, test {scores['test']:.1f}", flush=True)


def ours(
    cell: Cell, start: str, train: Path, files: theirs.Files, steps: int, rate: float, work: Path
) -> dict[str, float]:
    """Learn by `spanwise finetune`; return the F1 on each file."""
    shutil.rmtree(work, ignore_errors=True)  # of a call that was stopped
    name = DOMAINS[cell.task].task
    values = {"training.max_steps": steps, "training.learning_rate": rate, "training.seed": cell.seed}
    changes = [f"{path}={value}" for path, value in {**values, "batch_size": theirs.BATCH}.items()]
    log = RunLog(work, stream=io.StringIO())
    final = finetune(name, model=start, train=train, out=work, overrides=changes, log=log).final
    found = {k: float(evaluate(name, model=final, data=file).scores[SCORES[name]]) for k, file in files.items()}
    shutil.rmtree(work)
    return found


def as_examples(
    cell: Cell, start: str, train: Path, files: theirs.Files, steps: int, rate: float, work: Path
) -> dict[str, float]:
    """Learn as the examples of transformers do, scored by the same official metric."""
    domain, found = DOMAINS[cell.task], {}
    told = work.with_name(f"predictions{domain.suffix}")
    for kind, text in theirs.learn(domain.task, start, train, files, steps, rate, cell.seed).items():
        told.write_text(text, encoding="utf-8")
        scores = task_recipe(domain.task).task.score_files(files[kind], told, {}).scores
        found[kind] = float(scores[SCORES[domain.task]])
    return found


# ---------------------------------------------------------------------------------------------------- the table


def rows_of(settings: Settings) -> Iterator[tuple[str, int, str]]:
    """Give task, labels and arm of each mean in the table."""
    yield from itertools.product(settings.tasks, settings.labels, ARMS)


def chosen_rate(task: str, labels: int, arm: str, num_seeds: int, out: Path) -> int | None:
    """Return the rate with the best mean dev score over the seeds of `tries`, of equals the lowest; None until all are
    run. num_seeds: of the table."""
    found = [[cell.scores(out) for cell in cells] for cells in tries(task, labels, arm, num_seeds)]
    known = [statistics.fmean(scores["dev"] for scores in row if scores is not None) for row in found if all(row)]
    return known.index(max(known)) if len(known) == len(found) else None


def tries(task: str, labels: int, arm: str, num_seeds: int) -> list[list[Cell]]:
    """Return the cells that choose the rate of a row, by rate."""
    seeds = range(min(CHOOSING_SEEDS, num_seeds))
    return [
        [Cell(task=task, arm=arm, labels=labels, rate=rate, seed=seed) for seed in seeds]
        for rate in range(len(RATE_FACTORS))
    ]


def cells_left(
    settings: Settings, out: Path, tasks: Sequence[str] = tuple(DOMAINS), arms: Sequence[str] = ARMS
) -> Iterator[Cell]:
    """Give the cells that are not run yet, in order: the other seeds of a row follow once its rate is chosen."""
    for task, labels, arm in rows_of(settings):
        if task not in tasks or arm not in arms:
            continue
        yield from left_of_row(task, labels, arm, settings.seeds, out)


def left_of_row(task: str, labels: int, arm: str, num_seeds: int, out: Path) -> Iterator[Cell]:
    """Give the cells of one row that are not run yet; each is run before the next is asked for."""
    first = itertools.chain.from_iterable(tries(task, labels, arm, num_seeds))
    yield from (cell for cell in first if cell.scores(out) is None)
    rate = chosen_rate(task, labels, arm, num_seeds, out)
    if rate is not None:
        cells = [Cell(task=task, arm=arm, labels=labels, rate=rate, seed=seed) for seed in range(num_seeds)]
        yield from (cell for cell in cells if cell.scores(out) is None)


def test_scores(task: str, labels: int, arm: str, settings: Settings, out: Path) -> list[float] | None:
    """Return the test score of each seed at the chosen rate; None until all are there."""
    rate = chosen_rate(task, labels, arm, settings.seeds, out)
    if rate is None:
        return None
    found = [Cell(task=task, arm=arm, labels=labels, rate=rate, seed=s).scores(out) for s in range(settings.seeds)]
    return [scores["test"] for scores in found if scores is not None] if all(found) else None


def num_run(task: str, labels: int, arm: str, settings: Settings, out: Path) -> int:
    """Return how many of a row's cells are run; those of another rate beyond the seeds that choose are none of it."""
    cells = set(itertools.chain.from_iterable(tries(task, labels, arm, settings.seeds)))
    rate = chosen_rate(task, labels, arm, settings.seeds, out)
    if rate is not None:
        cells |= {Cell(task=task, arm=arm, labels=labels, rate=rate, seed=seed) for seed in range(settings.seeds)}
    return sum(cell.scores(out) is not None for cell in cells)


def difference(one: list[float] | None, other: list[float] | None) -> str:
    """Return the mean difference with its 95 % interval by Student's t, paired over seeds."""
    if one is None or other is None:
        return "-"
    apart = [a - b for a, b in zip(one, other, strict=True)]
    half = float(stdtrit(len(apart) - 1, 0.975)) * statistics.stdev(apart) / len(apart) ** 0.5
    mean = statistics.fmean(apart)
    return f"{mean:+.1f} ({mean - half:+.1f} to {mean + half:+.1f})"


def table(settings: Settings, out: Path) -> str:
    """Return the table as Markdown, and what is not run yet."""
    columns = ["task", "labels", *ARMS, *(f"{one} - {other}" for one, other in DIFFERENCES)]
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    num_done = num_cells = 0
    for task, labels in itertools.product(settings.tasks, settings.labels):
        scores = {arm: test_scores(task, labels, arm, settings, out) for arm in ARMS}
        num_cells += sum(num_run(task, labels, arm, settings, out) for arm in ARMS)
        means = ["-" if found is None else f"{statistics.fmean(found):.1f}" for found in scores.values()]
        apart = [difference(scores[one], scores[other]) for one, other in DIFFERENCES]
        lines.append(f"| {' | '.join([task, str(labels or 'all'), *means, *apart])} |")
        num_done += sum(found is not None for found in scores.values())
    num_rows = len(list(rows_of(settings)))
    per_row = settings.seeds + (len(RATE_FACTORS) - 1) * min(CHOOSING_SEEDS, settings.seeds)
    lines += [
        "",
        f"F1 on test, means of {settings.seeds} seeds, the rate chosen by the mean dev F1 of the first "
        f"{min(CHOOSING_SEEDS, settings.seeds)}; differences with 95 % intervals, paired over seeds. Run: "
        f"{num_cells} of {num_rows * per_row} cells, {num_done} of {num_rows} means.",
    ]
    for task, arm in itertools.product(settings.tasks, ("adapt", "run_mlm")):
        if not (out / "models" / f"{task}-{arm}").exists():
            lines.append(f"Not run yet: {settings.minutes:g} minutes of {arm} on the text of {task}.")
        record = out / "models" / f"{task}-{arm}" / "adaptation.json"
        if record.exists():
            found = json.loads(record.read_text())
            kept = f"step {found['kept_step']:,}" if found["kept_step"] else "the start, unchanged,"
            share = next((check.get("share", 1) for check in found["checks"][::-1] if check["is_kept"]), 1)
            kept += f" ({share:.0%} of the way to it)" if share < 1 else ""
            lines.append(f"adapt on the text of {task}: {kept} of {found['num_steps']:,} steps is kept.")
    return "\n".join(lines) + "\n"


def keep_results(settings: Settings, out: Path) -> None:
    """Write the table as it stands, and every cell in one file."""
    cells = [json.loads(path.read_text()) for path in sorted((out / "cells").glob("*/*/*/*.json"))]
    shown = {**asdict(settings), "start": Path(settings.start).name}
    write_text_atomic(out / "result.json", json.dumps({"settings": shown, "cells": cells}, indent=1) + "\n")
    write_text_atomic(out / "table.md", table(settings, out))


def keep_settings(settings: Settings, out: Path, *, write: bool) -> None:
    """Refuse to go on with other settings than a table was begun with; seeds and numbers of labels may be added."""
    path, record = out / "settings.json", json.loads(json.dumps(asdict(settings)))
    if path.exists():
        begun = json.loads(path.read_text())
        kept, given = (dict(zip(one["labels"], one["steps"], strict=True)) for one in (begun, record))
        same = all(begun[name] == record[name] for name in ("start", "language", "minutes"))
        if not same or any(kept.get(labels, steps) != steps for labels, steps in given.items()):
            raise SystemExit(f"{path} says that this table was begun otherwise: {path.read_text()}Give another OUT.")
        kept |= given
        record |= {"seeds": max(begun["seeds"], record["seeds"]), "labels": list(kept), "steps": list(kept.values())}
    out.mkdir(parents=True, exist_ok=True)
    if write:
        write_text_atomic(path, json.dumps(record, indent=1) + "\n")


def main(arguments: Sequence[str] | None = None, *, ended: Callable[[int], bool] = lambda done: False) -> None:
    """Run what is left and print the table. `ended` says after how many cells to stop."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("start")
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=30.0, help="of each adapting part")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--labels", type=int, nargs="+", default=[100, 1_000, 0], help="0: all there are")
    parser.add_argument("--steps", type=int, nargs="+", default=[100, 300, 600], help="for each number of labels")
    parser.add_argument("--language", choices=("en", "ko"), default="en", help="of START, and of the domains")
    parser.add_argument("--tasks", nargs="+", choices=list(DOMAINS), help="that this call runs; all of the language")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=ARMS, help="that this call runs")
    parser.add_argument("--table", action="store_true", help="run nothing; print what there is")
    given = parser.parse_args(arguments)
    if given.seeds < 2 or len(given.steps) != len(given.labels):
        parser.error("give two seeds or more, and one number of steps for each number of labels")
    settings = Settings(
        start=given.start,
        language=given.language,
        minutes=given.minutes,
        seeds=given.seeds,
        labels=tuple(given.labels),
        steps=tuple(given.steps),
    )
    keep_settings(settings, given.out, write=not given.table)
    tasks = [task for task in settings.tasks if task in (given.tasks or settings.tasks)]
    if not given.table:
        prepare(given.data, given.out, tasks)
        for done, cell in enumerate(cells_left(settings, given.out, tasks, given.arms)):
            if ended(done):
                break
            run_cell(cell, settings, given.out)
            keep_results(settings, given.out)
    keep_results(settings, given.out)
    print(table(settings, given.out))


if __name__ == "__main__":
    main(sys.argv[1:])
