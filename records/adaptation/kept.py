"""At which rate, and for how many steps, should a model go on that has learned its task before? Call again to go on.

    python records/adaptation/kept.py START DATA OUT --tasks questions --labels 100 --steps 13 100 300

START has the task already, such as spanwise-mini. Labels, dev and batches are those of table.py; the rates are a part
of the usual one of `finetune` for a fresh head. Each cell is one fine-tuned model, scored on dev alone, so that the
test files stay for what is chosen here. OUT/kept-START.json has every score, and the start's own with 0 steps. A start
answers by the options of the others, not by those that it shipped with.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from domains import DOMAINS, prepare
from table import Cell, labelled, ours

from spanwise.interop.huggingface import read_folder
from spanwise.runtime.files import write_text_atomic
from spanwise.tasks.teaching.rule import usual_rate

FACTORS = (0.03, 0.1, 0.3, 1.0)  # of the usual rate


def learned(task: str, labels: int, factor: float, steps: int, seed: int, start: str, out: Path) -> dict[str, object]:
    """Go on from the start with a seed's labels; return the values and the score."""
    config = read_folder(start).config
    rate = usual_rate(config.hidden_size, config.num_layers) * factor
    cell = Cell(task=task, arm="finetune", labels=labels, rate=0, seed=seed)
    began = time.monotonic()
    files = {"dev": out / "data" / f"{task}-dev{DOMAINS[task].suffix}"}
    work = out / f"work-kept-{task}-{labels}-{factor:g}-{steps}-{seed}"
    found = ours(cell, start, labelled(cell, out), files, steps, rate, work)
    values = {"task": task, "labels": labels, "factor": factor, "learning_rate": rate, "steps": steps, "seed": seed}
    return values | found | {"seconds": time.monotonic() - began}


def of_start(task: str, labels: int, start: str, out: Path) -> dict[str, object]:
    """Score the start: a step at next to no rate leaves it as it is."""
    return {"task": task, "steps": 0, "dev": learned(task, labels, 1e-12, 1, 0, start, out)["dev"]}


def table(cells: Sequence[dict]) -> str:
    """One line per task, labels and steps, with the rates as columns: the scores of the seeds, and their mean."""
    factors = sorted({cell["factor"] for cell in cells})
    lines = ["| task | labels | steps | " + " | ".join(f"{factor:g} of the rate" for factor in factors) + " |"]
    lines.append("|" + "---|" * (3 + len(factors)))
    rows = sorted({(cell["task"], cell["labels"], cell["steps"]) for cell in cells})
    for row in rows:
        shown = []
        for factor in factors:
            same = [c for c in cells if (c["task"], c["labels"], c["steps"], c["factor"]) == (*row, factor)]
            scores = [cell["dev"] for cell in same]
            each = ", ".join(f"{score:.1f}" for score in scores)
            shown.append(f"{statistics.fmean(scores):.1f} ({each})" if scores else "")
        lines.append(f"| {row[0]} | {row[1] or 'all'} | {row[2]} | {' | '.join(shown)} |")
    return "\n".join(lines)


def keep(folder: Path) -> None:
    """Write every cell in one file, and print the table."""
    cells = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    write_text_atomic(folder.with_name(f"{folder.name}.json"), json.dumps(cells, indent=1) + "\n")
    print(table([cell for cell in cells if cell["steps"]]), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is left, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("start")
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tasks", nargs="+", choices=list(DOMAINS), default=["questions"])
    parser.add_argument("--labels", type=int, nargs="+", default=[100], help="0: all there are")
    parser.add_argument("--steps", type=int, nargs="+", default=[13, 100, 300])
    parser.add_argument("--factors", type=float, nargs="+", default=FACTORS, help="of the usual rate")
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args(arguments)
    prepare(given.data, given.out, given.tasks)
    folder = given.out / f"kept-{Path(given.start).name}"
    folder.mkdir(exist_ok=True)
    for task in given.tasks:
        path = folder / f"{task}-start.json"
        if not path.exists():
            record = of_start(task, given.labels[0], given.start, given.out)
            write_text_atomic(path, json.dumps(record, indent=1) + "\n")
    cells = itertools.product(given.tasks, given.labels, range(given.seeds), given.steps, given.factors)
    for task, labels, seed, steps, factor in cells:
        path = folder / f"{task}-{labels}-{factor:g}-{steps}-{seed}.json"
        if not path.exists():
            record = learned(task, labels, factor, steps, seed, given.start, given.out)
            write_text_atomic(path, json.dumps(record, indent=1) + "\n")
            print(f"{path.stem}: dev {record['dev']:.1f} in {record['seconds']:.0f} s", flush=True)
    keep(folder)


if __name__ == "__main__":
    main()
